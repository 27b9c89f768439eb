import type { Blockstore, InputPair, Pair } from 'interface-blockstore'
import type { CID } from 'multiformats/cid'
import { HoldfastError } from '../domain/errors.ts'
import type { HostBlockStore } from './host-block-store.ts'
import type { ServedBlocks } from './served-blocks.ts'

type Bytes = Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array>

/** Lets Helia read the blocks of live records, but write and delete only blocks of the host program. */
export class HeliaBlockstore implements Blockstore {
  readonly #host: HostBlockStore
  readonly #served: ServedBlocks

  constructor(host: HostBlockStore, served: ServedBlocks) {
    this.#host = host
    this.#served = served
  }

  async has(cid: CID): Promise<boolean> {
    return this.#served.has(cid) || (await this.#host.has(cid))
  }

  /** @throws HoldfastError `NOT_FOUND` if this node does not have the block */
  async *get(cid: CID): AsyncGenerator<Uint8Array> {
    const bytes = (await this.#host.get(cid)) ?? (await this.#served.get(cid))
    if (bytes === null) throw new HoldfastError('NOT_FOUND', `block ${cid} is not on this node`)
    yield bytes
  }

  async put(cid: CID, bytes: Bytes): Promise<CID> {
    await this.#host.put(cid, await whole(bytes))
    return cid
  }

  /** @throws HoldfastError `CONFLICT` if a record needs the block */
  async delete(cid: CID): Promise<void> {
    if (await this.#host.has(cid)) await this.#host.delete(cid)
    else if (this.#served.has(cid)) {
      throw new HoldfastError('CONFLICT', `a pin needs block ${cid}: delete the pin first`)
    }
  }

  async *putMany(source: Iterable<InputPair> | AsyncIterable<InputPair>): AsyncGenerator<CID> {
    for await (const { cid, bytes } of source) yield this.put(cid, bytes)
  }

  async *getMany(source: Iterable<CID> | AsyncIterable<CID>): AsyncGenerator<Pair> {
    for await (const cid of source) yield { cid, bytes: this.get(cid) }
  }

  async *deleteMany(source: Iterable<CID> | AsyncIterable<CID>): AsyncGenerator<CID> {
    for await (const cid of source) {
      await this.delete(cid)
      yield cid
    }
  }

  /** Omits the blocks of records, because a caller may list the store to delete all its blocks. */
  async *getAll(): AsyncGenerator<Pair> {
    for await (const { cid, bytes } of this.#host.all()) yield { cid, bytes: once(bytes) }
  }
}

async function whole(bytes: Bytes): Promise<Uint8Array> {
  if (bytes instanceof Uint8Array) return bytes
  const parts: Uint8Array[] = []
  for await (const part of bytes) parts.push(part)
  return Buffer.concat(parts)
}

function* once(bytes: Uint8Array): Generator<Uint8Array> {
  yield bytes
}
