import type { CID } from 'multiformats/cid'
import type { BlockSource } from '../../src/content/block-source.ts'
import { CODEC } from '../../src/ipld/cid.ts'

/** What it can make blocks of again. */
const CODECS = new Set<number>([CODEC.dagPb, CODEC.raw, CODEC.dagCbor])

/** Whether its codec is one of them. */
export function isSendable({ code }: CID): boolean {
  return CODECS.has(code)
}

/** Why a DAG cannot be handed over as a CAR: its peers have to fetch it. */
export class NotSendable extends Error {}

/** A source of a DAG that an IPFS Cluster is handed: it hashes all blocks as the first one. */
export class SendableBlocks implements BlockSource {
  readonly #source: BlockSource
  #hash: string | null = null

  constructor(source: BlockSource) {
    this.#source = source
  }

  /** @throws NotSendable; what the source throws */
  async read(cid: CID, options?: { signal?: AbortSignal | undefined }): Promise<Uint8Array> {
    if (!isSendable(cid)) throw new NotSendable(`has blocks of codec 0x${cid.code.toString(16)}`)
    const hash = `${cid.multihash.code} ${cid.multihash.digest.length}`
    this.#hash ??= hash
    if (hash !== this.#hash) throw new NotSendable('has blocks of several hashes')
    return this.#source.read(cid, options)
  }
}
