import * as dagCbor from '@ipld/dag-cbor'
import { CID } from 'multiformats/cid'
import { sha256 } from 'multiformats/hashes/sha2'
import { cborTokens } from '../../src/content/dag/cbor-tokens.ts'
import { cidOfLink } from '../../src/content/dag/document-token.ts'
import { CODEC, cidOf, cidOrNull, type DagIdentity } from '../../src/ipld/cid.ts'

/** Maximum length of a CID in the name of a pin, which has at most 255 bytes. Only inline CIDs can be longer. */
const LONGEST_CID = 128
const NO_CID = '-'

/**
 * A small block that links to a root and contains the id of a hold.
 * Kubo has one pin per CID. If this node pinned the root itself, it could rename or remove another user's pin. No other
 * user pins the hold block.
 */
export interface HoldBlock {
  cid: CID
  bytes: Uint8Array
  /** The name of the block's pin. A pin of the block with another name belongs to another user. */
  name: string
}

export async function holdBlock(mark: string, hold: string, root: DagIdentity): Promise<HoldBlock> {
  const link = cidOf(root)
  const bytes = dagCbor.encode({ hold, mark, root: link })
  const cid = CID.createV1(CODEC.dagCbor, await sha256.digest(bytes))
  return { cid, bytes, name: `${nameStart(mark, root)}${hold}` }
}

/** Returns the prefix of the names of this node's pins, or of its pins for `root`. */
export function nameStart(mark: string, root?: DagIdentity): string {
  if (root === undefined) return `${mark} `
  const text = cidOf(root).toString()
  return `${mark} ${text.length <= LONGEST_CID ? text : NO_CID} `
}

/**
 * Parses the name of a pin. The root is null if its CID was too long for the name. Returns null if the pin does not
 * have this node's mark.
 */
export function readName(mark: string, name: string): { hold: string; root: CID | null } | null {
  if (!name.startsWith(nameStart(mark))) return null
  const rest = name.slice(nameStart(mark).length)
  const end = rest.indexOf(' ')
  if (end < 0) return null
  const hold = rest.slice(end + 1)
  const text = rest.slice(0, end)
  if (text === NO_CID) return { hold, root: null }
  const root = cidOrNull(text)
  return root === null ? null : { hold, root }
}

/** @throws Error if the bytes contain no link */
export function rootIn(bytes: Uint8Array): CID {
  for (const token of cborTokens(bytes)) if (token.kind === 'link') return cidOfLink(token)
  throw new Error('the block links to no root')
}
