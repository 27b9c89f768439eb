import * as dagCbor from '@ipld/dag-cbor'
import { CID } from 'multiformats/cid'
import { sha256, sha512 } from 'multiformats/hashes/sha2'
import { isHoldfastError } from '../../src/domain/errors.ts'
import { CODEC, cidOf, type DagIdentity, HASH, parseCid } from '../../src/ipld/cid.ts'
import type { ClusterPin, PinWish, Replication } from './ipfs-cluster-api.ts'

/** Of the metadata of a pin: whose it is, of which root, and what each hold begins with. */
const MARK = 'holdfast'
const ROOT = 'root'
const HOLD = 'hold '

/**
 * A block of a node's own that links to a root. An IPFS Cluster has one pin for a CID, whoever wished for it, and
 * whoever wishes anew puts all of it in the old one's place: a pin of the root itself would take the place of somebody's,
 * go with it, or take it along. So what is pinned is this block, which nobody else has, and all below it.
 */
export interface MarkBlock {
  cid: CID
  bytes: Uint8Array
  root: CID
  mark: string
}

/** There is one for each root of a node. */
export async function markBlock(mark: string, identity: DagIdentity): Promise<MarkBlock> {
  const root = cidOf(identity)
  const bytes = dagCbor.encode({ mark, root })
  // All blocks of one upload are hashed in one way.
  const hasher = root.multihash.code === HASH.sha2_512 ? sha512 : sha256
  return { cid: CID.createV1(CODEC.dagCbor, await hasher.digest(bytes)), bytes, root, mark }
}

/** The holds of a pin of such a block; null if it is none of ours. */
export function holdsOf(pin: ClusterPin, mark: string): string[] | null {
  const metadata = pin.metadata ?? {}
  if (metadata[MARK] !== mark) return null
  return Object.keys(metadata).flatMap(key => (key.startsWith(HOLD) ? [key.slice(HOLD.length)] : []))
}

/** The root that a pin of ours says that it is for; null if it says none, or has another block than that root's. */
export async function rootOf(pin: ClusterPin, mark: string): Promise<CID | null> {
  if (holdsOf(pin, mark) === null) return null
  try {
    const root = parseCid(pin.metadata?.[ROOT] ?? '')
    const { cid } = await markBlock(mark, { codec: root.code, multihash: root.multihash.bytes })
    return cid.toString() === pin.cid ? root : null
  } catch (error) {
    if (isHoldfastError(error, 'INVALID_CID')) return null
    throw error
  }
}

/** How the block is to be pinned for these holds. */
export function pinWish({ mark, root }: MarkBlock, holds: Iterable<string>, replication: Replication | null): PinWish {
  const kept = Object.fromEntries([...holds].map(hold => [`${HOLD}${hold}`, '1']))
  return {
    name: `${mark} ${root}`.slice(0, 255),
    metadata: { [MARK]: mark, [ROOT]: root.toString(), ...kept },
    replication,
  }
}
