import * as dagCbor from '@ipld/dag-cbor'
import { CID } from 'multiformats/cid'
import { sha256, sha512 } from 'multiformats/hashes/sha2'
import { isHoldfastError } from '../../src/domain/errors.ts'
import { CODEC, cidOf, type DagIdentity, HASH, parseCid } from '../../src/ipld/cid.ts'
import type { ClusterPin, PinOptions, Replication } from './ipfs-cluster-api.ts'

/** Metadata of a pin: the node's mark, the root, and a key for each hold. */
const MARK = 'holdfast'
const ROOT = 'root'
const HOLD = 'hold '

/**
 * A small block that links to a root and carries the node's mark.
 *
 * An IPFS Cluster has one pin per CID, and pinning a CID again replaces its pin. Pinning the root itself could
 * therefore replace or remove another user's pin. No other user has this block.
 */
export interface MarkBlock {
  cid: CID
  bytes: Uint8Array
  root: CID
  mark: string
}

/** Returns the only mark block of a root on a node. */
export async function markBlock(mark: string, identity: DagIdentity): Promise<MarkBlock> {
  const root = cidOf(identity)
  const bytes = dagCbor.encode({ mark, root })
  // The cluster uses one hash function for all blocks of an upload.
  const hasher = root.multihash.code === HASH.sha2_512 ? sha512 : sha256
  return { cid: CID.createV1(CODEC.dagCbor, await hasher.digest(bytes)), bytes, root, mark }
}

/** Returns the holds in a pin; null if the pin is not this node's. */
export function holdsOf(pin: ClusterPin, mark: string): string[] | null {
  const metadata = pin.metadata ?? {}
  if (metadata[MARK] !== mark) return null
  return Object.keys(metadata).flatMap(key => (key.startsWith(HOLD) ? [key.slice(HOLD.length)] : []))
}

/** Returns the root of this node's pin; null if the metadata and the block do not match. */
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

/** Returns the options of the block's pin, with all its holds. */
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
