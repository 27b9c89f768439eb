import type { Batch, Datastore, Key, KeyQuery, Pair, Query } from 'interface-datastore'
import type { Clock } from '../domain/clock.ts'
import { DatastoreLayer, type DatastoreOptions } from './datastore-layer.ts'

const PEERS = '/peers/'
/** Maximum number of peer records in memory. The other records are only in the store. */
const MOST_PEERS = 1_024
/** Minimum time between two writes of the same peer's record. */
const WRITE_EVERY_MS = 60_000

interface PeerRecord {
  key: Key
  value: Uint8Array
  writtenAt: number
  isWritten: boolean
}

/**
 * Caches peer records, which libp2p reads and writes for every stream. A crash may lose recent peer records, but peers
 * send the same data again.
 */
export class PeerRecords extends DatastoreLayer {
  readonly #clock: Clock
  /** The record that libp2p wrote least recently comes first. */
  readonly #records = new Map<string, PeerRecord>()

  constructor(store: Datastore, clock: Clock) {
    super(store)
    this.#clock = clock
  }

  async flush(): Promise<void> {
    for (const record of this.#records.values()) if (!record.isWritten) await this.#write(record)
  }

  async put(key: Key, value: Uint8Array, options?: DatastoreOptions): Promise<Key> {
    const name = key.toString()
    if (!name.startsWith(PEERS)) return this.store.put(key, value, options)
    const known = this.#records.get(name)
    const record: PeerRecord = { key, value, writtenAt: known?.writtenAt ?? Number.NEGATIVE_INFINITY, isWritten: false }
    this.#records.delete(name)
    this.#records.set(name, record)
    if (this.#clock.now() - record.writtenAt >= WRITE_EVERY_MS) await this.#write(record, options)
    await this.#forgetOldest()
    return key
  }

  override async get(key: Key, options?: DatastoreOptions): Promise<Uint8Array> {
    return this.#records.get(key.toString())?.value ?? this.store.get(key, options)
  }

  override async has(key: Key, options?: DatastoreOptions): Promise<boolean> {
    return this.#records.has(key.toString()) || this.store.has(key, options)
  }

  override async delete(key: Key, options?: DatastoreOptions): Promise<void> {
    this.#records.delete(key.toString())
    await this.store.delete(key, options)
  }

  override batch(): Batch {
    const batch = this.store.batch()
    const names: string[] = []
    return {
      put: (key, value) => {
        names.push(key.toString())
        batch.put(key, value)
      },
      delete: key => {
        names.push(key.toString())
        batch.delete(key)
      },
      commit: async options => {
        for (const name of names) this.#records.delete(name)
        await batch.commit(options)
      },
    }
  }

  override async *query(query: Query, options?: DatastoreOptions): AsyncGenerator<Pair> {
    await this.flush()
    yield* this.store.query(query, options)
  }

  override async *queryKeys(query: KeyQuery, options?: DatastoreOptions): AsyncGenerator<Key> {
    await this.flush()
    yield* this.store.queryKeys(query, options)
  }

  async #write(record: PeerRecord, options?: DatastoreOptions): Promise<void> {
    record.writtenAt = this.#clock.now()
    record.isWritten = true
    await this.store.put(record.key, record.value, options)
  }

  async #forgetOldest(): Promise<void> {
    for (const [name, record] of this.#records) {
      if (this.#records.size <= MOST_PEERS) return
      this.#records.delete(name)
      if (!record.isWritten) await this.#write(record)
    }
  }
}
