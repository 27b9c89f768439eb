import type { LevelDatastore } from 'datastore-level'
import type { Batch, Datastore, Key, Pair, Query } from 'interface-datastore'
import type { Sealing } from '../domain/sealing.ts'
import { DatastoreLayer, type DatastoreOptions } from './datastore-layer.ts'

/** Key prefix for the private keys of libp2p's keychain, including the key of this node. */
export const PRIVATE_KEYS = '/pkcs8/'
const PAST_PRIVATE_KEYS = '/pkcs80'
/** A sealed value begins with a control character, and an unsealed private key is text. */
const LAST_CONTROL_BYTE = 0x1f

/**
 * Encrypts private keys on disk, including keys that earlier versions stored as plaintext. The caller closes `store`.
 */
export async function sealedDatastore(store: LevelDatastore, sealing: Sealing): Promise<Datastore> {
  const sealed = new SealedDatastore(store, sealing)
  const batch = sealed.batch()
  let count = 0
  for await (const { key, value } of store.query({ prefix: PRIVATE_KEYS })) {
    if ((value[0] ?? 0) <= LAST_CONTROL_BYTE) continue
    batch.put(key, value)
    count++
  }
  if (count === 0) return sealed
  await batch.commit()
  // LevelDB keeps the old value on disk until the next compaction.
  if ('compactRange' in store.db && typeof store.db.compactRange === 'function') {
    await store.db.compactRange(PRIVATE_KEYS, PAST_PRIVATE_KEYS)
  }
  return sealed
}

class SealedDatastore extends DatastoreLayer {
  readonly #sealing: Sealing

  constructor(store: Datastore, sealing: Sealing) {
    super(store)
    this.#sealing = sealing
  }

  put(key: Key, value: Uint8Array, options?: DatastoreOptions): Key | Promise<Key> {
    return this.store.put(key, this.#sealed(key, value), options)
  }

  /** @throws HoldfastError `DATA_DIR_UNUSABLE` if a private key cannot be decrypted */
  override async get(key: Key, options?: DatastoreOptions): Promise<Uint8Array> {
    return this.#opened(key, await this.store.get(key, options))
  }

  override batch(): Batch {
    const batch = this.store.batch()
    return {
      put: (key, value) => batch.put(key, this.#sealed(key, value)),
      delete: key => batch.delete(key),
      commit: options => batch.commit(options),
    }
  }

  override async *query(query: Query, options?: DatastoreOptions): AsyncGenerator<Pair> {
    for await (const { key, value } of this.store.query(query, options)) yield { key, value: this.#opened(key, value) }
  }

  #sealed(key: Key, value: Uint8Array): Uint8Array {
    return isPrivate(key) ? this.#sealing.seal(value, contextOf(key)) : value
  }

  #opened(key: Key, value: Uint8Array): Uint8Array {
    return isPrivate(key) ? this.#sealing.open(value, contextOf(key)) : value
  }
}

function isPrivate(key: Key): boolean {
  return key.toString().startsWith(PRIVATE_KEYS)
}

function contextOf(key: Key): string {
  return `datastore ${key}`
}
