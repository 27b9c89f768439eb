import { createHash } from 'node:crypto'
import { CID } from 'multiformats/cid'
import * as Digest from 'multiformats/hashes/digest'
import { CODEC, HASH } from '../../../src/ipld/cid.ts'
import type { ServedBlocks } from '../../../src/network/served-blocks.ts'
import { pseudoRandom } from '../../support/bytes.ts'

export interface Block {
  cid: CID
  bytes: Buffer
}

export function rawBlock(bytes: Buffer): Block {
  const digest = createHash('sha256').update(bytes).digest()
  return { cid: CID.createV1(CODEC.raw, Digest.create(HASH.sha2_256, digest)), bytes }
}

/** Returns the same blocks for the same seed, in every process. */
export function someBlocks(count: number, size: number, seed = 'blocks'): Block[] {
  return Array.from({ length: count }, (_, i) => rawBlock(pseudoRandom(size, `${seed} ${i}`)))
}

/** Serves all of the given blocks. */
export function hostOf(blocks: readonly Block[]): ServedBlocks {
  const byCid = new Map(blocks.map(({ cid, bytes }) => [cid.toString(), bytes]))
  return { get: async cid => byCid.get(cid.toString()) ?? null, has: cid => byCid.has(cid.toString()) }
}
