import type { Batch, Datastore, Key, KeyQuery, Pair, Query } from 'interface-datastore'

export type DatastoreOptions = { signal?: AbortSignal } | undefined

/** Base class of wrappers around a datastore. Its bulk methods call the methods for single keys. */
export abstract class DatastoreLayer implements Datastore {
  readonly store: Datastore

  constructor(store: Datastore) {
    this.store = store
  }

  abstract put(key: Key, value: Uint8Array, options?: DatastoreOptions): Key | Promise<Key>

  get(key: Key, options?: DatastoreOptions): Uint8Array | Promise<Uint8Array> {
    return this.store.get(key, options)
  }

  has(key: Key, options?: DatastoreOptions): boolean | Promise<boolean> {
    return this.store.has(key, options)
  }

  delete(key: Key, options?: DatastoreOptions): void | Promise<void> {
    return this.store.delete(key, options)
  }

  batch(): Batch {
    return this.store.batch()
  }

  query(query: Query, options?: DatastoreOptions): AsyncGenerator<Pair> {
    return this.store.query(query, options) as AsyncGenerator<Pair>
  }

  queryKeys(query: KeyQuery, options?: DatastoreOptions): Generator<Key> | AsyncGenerator<Key> {
    return this.store.queryKeys(query, options) as AsyncGenerator<Key>
  }

  async *putMany(source: Iterable<Pair> | AsyncIterable<Pair>, options?: DatastoreOptions): AsyncGenerator<Key> {
    for await (const { key, value } of source) yield await this.put(key, value, options)
  }

  async *getMany(source: Iterable<Key> | AsyncIterable<Key>, options?: DatastoreOptions): AsyncGenerator<Pair> {
    for await (const key of source) yield { key, value: await this.get(key, options) }
  }

  async *deleteMany(source: Iterable<Key> | AsyncIterable<Key>, options?: DatastoreOptions): AsyncGenerator<Key> {
    for await (const key of source) {
      await this.delete(key, options)
      yield key
    }
  }
}
