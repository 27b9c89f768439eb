import type { Datastore } from 'interface-datastore'
import { Key } from 'interface-datastore'
import { base32 } from 'multiformats/bases/base32'
import type { CID } from 'multiformats/cid'
import { CODEC, cidOf } from '../ipld/cid.ts'
import type { HostBlocks } from './host-blocks.ts'

const PREFIX = '/holdfast/own-blocks'

/**
 * Blocks that the host program stores through Helia. They stay in the engine's datastore until the host program deletes
 * them.
 */
export class HostBlockStore implements HostBlocks {
  readonly #datastore: Datastore
  #mayHave = false

  /** @param datastore an open datastore, which the caller closes */
  constructor(datastore: Datastore) {
    this.#datastore = datastore
  }

  async open(): Promise<void> {
    for await (const _ of this.#datastore.queryKeys({ prefix: PREFIX, limit: 1 })) this.#mayHave = true
  }

  mayHave(): boolean {
    return this.#mayHave
  }

  async has(cid: CID): Promise<boolean> {
    return this.#mayHave && (await this.#datastore.has(keyOf(cid)))
  }

  async get(cid: CID): Promise<Uint8Array | null> {
    if (!this.#mayHave) return null
    try {
      return await this.#datastore.get(keyOf(cid))
    } catch (error) {
      if (error instanceof Error && error.name === 'NotFoundError') return null
      throw error
    }
  }

  async put(cid: CID, bytes: Uint8Array): Promise<void> {
    this.#mayHave = true
    await this.#datastore.put(keyOf(cid), bytes)
  }

  async delete(cid: CID): Promise<void> {
    await this.#datastore.delete(keyOf(cid))
  }

  /** Yields CIDs of codec raw, because the store knows only the multihash of a block. */
  async *all(): AsyncGenerator<{ cid: CID; bytes: Uint8Array }> {
    for await (const { key, value } of this.#datastore.query({ prefix: PREFIX })) {
      const multihash = base32.decode(key.baseNamespace())
      yield { cid: cidOf({ codec: CODEC.raw, multihash }), bytes: value }
    }
  }
}

function keyOf(cid: CID): Key {
  return new Key(`${PREFIX}/${base32.encode(cid.multihash.bytes)}`)
}
