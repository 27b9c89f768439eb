import { CID } from 'multiformats/cid'
import * as Digest from 'multiformats/hashes/digest'
import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import { CODEC, HASH } from '../../ipld/cid.ts'
import type { StagedDag } from '../dag/staged-dag.ts'
import { carBlockHead, carHeader } from './writer.ts'

/**
 * Yields a CAR of version 1 with all blocks of a settled staged DAG, and checks their hashes. Each block gets the
 * shortest CID for its hash, so the CAR is no larger than the imported one.
 *
 * @throws HoldfastError `BLOCK_DAMAGED`; the reason of the signal
 */
export async function* stagedCar(
  staged: StagedDag,
  roots: readonly CID[],
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  yield carHeader(roots)
  for (const multihash of staged.multihashes()) {
    const cid = shortest(multihash)
    const bytes = await staged.get(cid, { verify: true })
    if (turnSpent()) await nextTurn(signal)
    yield carBlockHead(cid, bytes.length)
    yield bytes
  }
}

function shortest(multihash: Uint8Array): CID {
  const digest = Digest.decode(multihash)
  return digest.code === HASH.sha2_256 && digest.size === 32
    ? CID.createV0(digest as Digest.Digest<typeof HASH.sha2_256, number>)
    : CID.createV1(CODEC.raw, digest)
}
