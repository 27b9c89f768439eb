import type { CID } from 'multiformats/cid'
import { textOfUnicode, uriOfText } from '../../domain/byte-text.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { CODEC } from '../../ipld/cid.ts'
import { cborTokens } from './cbor-tokens.ts'
import { malformedDagPb } from './dag-pb.ts'
import { cidOfLink, type DocumentToken, type LinkToken } from './document-token.ts'
import { jsonTokens } from './json-tokens.ts'
import type { WalkBudget } from './ordered-walk.ts'

export interface Document {
  cid: CID
  bytes: Uint8Array
}

/** The first link on a path, and the number of names that lead to it. */
export interface Found {
  cid: CID
  taken: number
}

const READERS = new Map<number, (bytes: Uint8Array) => Iterable<DocumentToken>>([
  [CODEC.dagCbor, cborTokens],
  [CODEC.dagJson, jsonTokens],
])

export function isDocument({ cid }: { cid: CID }): boolean {
  return READERS.has(cid.code)
}

/**
 * Yields the tokens of a document, or none if the block has another codec.
 *
 * @throws HoldfastError `INVALID_CID` if the block does not match its codec
 */
export async function* tokensOf(
  document: Document,
  budget: WalkBudget,
): AsyncGenerator<DocumentToken, void, undefined> {
  for (const token of readTokens(document)) {
    const turn = budget.turn()
    if (turn !== null) await turn
    yield token
  }
}

/**
 * Returns the first link on a path of names, which are text forms. Returns null if the path does not exist or ends at a plain value.
 *
 * @throws HoldfastError `NOT_IMPLEMENTED` if the path ends inside the document, because a part of a block has no CID
 */
export async function findLink(
  document: Document,
  names: readonly string[],
  budget: WalkBudget,
): Promise<Found | null> {
  let taken = 0
  let depth = 0
  // The container that the path has reached. `isNext` is true if the path continues with the container's next value.
  let inside = { depth: 0, isMap: true, index: -1 }
  let isNext = true
  for await (const token of tokensOf(document, budget)) {
    const isHere = depth === inside.depth
    if (token.kind === 'key') {
      if (isHere) isNext = textOfUnicode(token.name) === names[taken]
      continue
    }
    if (token.kind === 'close') {
      depth--
      if (depth < inside.depth) return null
      continue
    }
    if (isHere && !inside.isMap) isNext = String(++inside.index) === names[taken]
    if (isHere && isNext) {
      if (depth > 0) taken++
      if (token.kind === 'link') return depth === 0 ? null : { cid: follow(document, token), taken }
      if (taken === names.length) throw endsInside(document.cid, names)
      if (token.kind === 'value') return null
      inside = { depth: depth + 1, isMap: token.isMap, index: -1 }
      isNext = false
    }
    if (token.kind === 'open') depth++
  }
  return null
}

function follow({ cid }: Document, link: LinkToken): CID {
  try {
    return cidOfLink(link)
  } catch {
    throw malformedDagPb(cid, 'a link is no CID')
  }
}

function endsInside(cid: CID, names: readonly string[]): HoldfastError {
  const path = names.map(uriOfText).join('/')
  return new HoldfastError('NOT_IMPLEMENTED', `${path} is a part of the block ${cid}: a path has to end at a link`)
}

function* readTokens({ cid, bytes }: Document): Generator<DocumentToken, void, undefined> {
  const tokens = READERS.get(cid.code)?.(bytes)[Symbol.iterator]()
  for (;;) {
    const next = tokens === undefined ? undefined : readNext(cid, tokens)
    if (next === undefined || next.done === true) return
    yield next.value
  }
}

function readNext(cid: CID, tokens: Iterator<DocumentToken>): IteratorResult<DocumentToken> {
  try {
    return tokens.next()
  } catch {
    throw malformedDagPb(cid, 'it is not what its codec says')
  }
}
