import * as dagCbor from '@ipld/dag-cbor'
import { CID } from 'multiformats/cid'
import { sha256 } from 'multiformats/hashes/sha2'
import { cborTokens } from '../../src/content/dag/cbor-tokens.ts'
import { cidOfLink } from '../../src/content/dag/document-token.ts'
import { CODEC, cidOf, type DagIdentity, parseCid } from '../../src/ipld/cid.ts'

/** Names of pins have 255 bytes at most, so a longer CID, which has its content in itself, is not among them. */
const LONGEST_CID = 128
const NO_CID = '-'

/**
 * A block of ours that links to a root. Kubo has one pin for a CID, whoever wished for it: a pin of the root itself
 * would take the place of a user's, with its name, and go with ours. So what is pinned is this block, which nobody else
 * has, and all below it.
 */
export interface HoldBlock {
  cid: CID
  bytes: Uint8Array
  /** What the pin is called. One that is called otherwise is not ours. */
  name: string
}

export async function holdBlock(mark: string, hold: string, root: DagIdentity): Promise<HoldBlock> {
  const link = cidOf(root)
  const bytes = dagCbor.encode({ hold, mark, root: link })
  const cid = CID.createV1(CODEC.dagCbor, await sha256.digest(bytes))
  return { cid, bytes, name: `${nameStart(mark, root)}${hold}` }
}

/** What the names of all pins of a node begin with; with a root, those of its holds. */
export function nameStart(mark: string, root?: DagIdentity): string {
  if (root === undefined) return `${mark} `
  const text = cidOf(root).toString()
  return `${mark} ${text.length <= LONGEST_CID ? text : NO_CID} `
}

/** The hold that a pin's name tells of; its root is null where the name has none. Null if it is not ours. */
export function readName(mark: string, name: string): { hold: string; root: CID | null } | null {
  if (!name.startsWith(nameStart(mark))) return null
  const rest = name.slice(nameStart(mark).length)
  const end = rest.indexOf(' ')
  if (end < 0) return null
  const hold = rest.slice(end + 1)
  const text = rest.slice(0, end)
  if (text === NO_CID) return { hold, root: null }
  try {
    return { hold, root: parseCid(text) }
  } catch {
    return null
  }
}

/** The root that a hold block links to. @throws Error if the bytes are none */
export function rootIn(bytes: Uint8Array): CID {
  for (const token of cborTokens(bytes)) if (token.kind === 'link') return cidOfLink(token)
  throw new Error('it links to no root')
}
