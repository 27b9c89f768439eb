import * as dagCbor from '@ipld/dag-cbor'
import { CID } from 'multiformats/cid'
import { sha256, sha512 } from 'multiformats/hashes/sha2'
import { CODEC, cidOf, cidOrNull, type DagIdentity, HASH, identityOf } from '../../src/ipld/cid.ts'
import type { ClusterPin, PinOptions, Replication } from './ipfs-cluster-api.ts'

/** Keys of a pin's metadata: of the node's mark, of the root, and the prefix of one key per hold. */
const MARK = 'holdfast'
const ROOT = 'root'
const HOLD = 'hold '

/**
 * A small block that links to a root and contains the node's mark.
 * An IPFS Cluster has one pin per CID, and a new pin replaces the old one. If this node pinned the root itself, it
 * could replace or remove another user's pin. No other user pins the mark block.
 */
export interface MarkBlock {
  cid: CID
  bytes: Uint8Array
  root: CID
  mark: string
}

/** Creates the mark block of a node for a root. It is the same at each call. */
export async function markBlock(mark: string, identity: DagIdentity): Promise<MarkBlock> {
  const root = cidOf(identity)
  const bytes = dagCbor.encode({ mark, root })
  // Use the hash function of the root, because the cluster uses one hash function for all blocks of an upload.
  const hasher = root.multihash.code === HASH.sha2_512 ? sha512 : sha256
  return { cid: CID.createV1(CODEC.dagCbor, await hasher.digest(bytes)), bytes, root, mark }
}

/** Returns null if the pin does not have this node's mark. */
export function holdsOf(pin: ClusterPin, mark: string): string[] | null {
  const metadata = pin.metadata ?? {}
  if (metadata[MARK] !== mark) return null
  return Object.keys(metadata).flatMap(key => (key.startsWith(HOLD) ? [key.slice(HOLD.length)] : []))
}

/** Returns null if the pin belongs to another user, or if its metadata does not match its CID. */
export async function rootOf(pin: ClusterPin, mark: string): Promise<CID | null> {
  if (holdsOf(pin, mark) === null) return null
  const root = cidOrNull(pin.metadata?.[ROOT] ?? '')
  if (root === null) return null
  const { cid } = await markBlock(mark, identityOf(root))
  return cid.toString() === pin.cid ? root : null
}

export function pinOptions(
  { mark, root }: MarkBlock,
  holds: Iterable<string>,
  replication: Replication | null,
): PinOptions {
  const keys = Object.fromEntries([...holds].map(hold => [`${HOLD}${hold}`, '1']))
  return {
    name: `${mark} ${root}`.slice(0, 255),
    metadata: { [MARK]: mark, [ROOT]: root.toString(), ...keys },
    replication,
  }
}
