import type { CID } from 'multiformats/cid'
import type { BlockSource } from '../../src/content/block-source.ts'
import { CODEC } from '../../src/ipld/cid.ts'

/** Codecs whose blocks an IPFS Cluster can import. */
const CODECS = new Set<number>([CODEC.dagPb, CODEC.raw, CODEC.dagCbor])

export function isSendable({ code }: CID): boolean {
  return CODECS.has(code)
}

/** Thrown for a DAG that cannot be uploaded as a CAR. The peers must fetch the DAG instead. */
export class NotSendable extends Error {}

/** Checks that all blocks of an upload use the same hash function, as the cluster requires. */
export class SendableBlocks implements BlockSource {
  readonly #source: BlockSource
  #hash: string | null = null

  constructor(source: BlockSource) {
    this.#source = source
  }

  /**
   * Reads a block from the source.
   * @throws NotSendable if the cluster does not accept the codec or the hash function; errors of the source
   */
  async read(cid: CID, options?: { signal?: AbortSignal | undefined }): Promise<Uint8Array> {
    if (!isSendable(cid)) throw new NotSendable(`has blocks of codec 0x${cid.code.toString(16)}`)
    const hash = `${cid.multihash.code} ${cid.multihash.digest.length}`
    this.#hash ??= hash
    if (hash !== this.#hash) throw new NotSendable('has blocks of several hashes')
    return this.#source.read(cid, options)
  }
}
