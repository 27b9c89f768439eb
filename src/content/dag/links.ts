import type { CID } from 'multiformats/cid'
import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { CODEC, dagKey } from '../../ipld/cid.ts'
import { cborTokens } from './cbor-tokens.ts'
import { readPbNode } from './dag-pb.ts'
import { cidOfLink, type DocumentToken } from './document-token.ts'
import { jsonTokens } from './json-tokens.ts'

/** Generators of the steps through a block, by codec: its links, and null for every other part. */
const STEPS = new Map<number, (bytes: Uint8Array) => Iterable<CID | null>>([
  [CODEC.raw, () => []],
  // Plain CBOR and JSON have no links, whatever they contain.
  [CODEC.cbor, () => []],
  [CODEC.json, () => []],
  [CODEC.dagPb, pbSteps],
  [CODEC.dagCbor, bytes => documentSteps(cborTokens(bytes))],
  [CODEC.dagJson, bytes => documentSteps(jsonTokens(bytes))],
])
const WITH_LINKS = new Set<number>([CODEC.dagPb, CODEC.dagCbor, CODEC.dagJson])

/** Returns true if blocks of this codec can have links. */
export function hasLinks(cid: CID): boolean {
  return WITH_LINKS.has(cid.code)
}

/**
 * Yields the links of a block in order, repeats included, each on request.
 *
 * @param bytes must hash to the CID
 * @throws HoldfastError `INVALID_CID` if they do not match the codec, or the codec cannot be walked.
 */
export function* linksOf(cid: CID, bytes: Uint8Array): Generator<CID, void, undefined> {
  for (const link of stepsThrough(cid, bytes)) if (link !== null) yield link
}

/**
 * Yields steps: a block can have hundreds of thousands of links, and millions of other parts.
 *
 * @throws as {@link linksOf}
 */
function* stepsThrough(cid: CID, bytes: Uint8Array): Generator<CID | null, void, undefined> {
  const steps = STEPS.get(cid.code)
  if (steps === undefined) {
    throw new HoldfastError('INVALID_CID', `codec 0x${cid.code.toString(16)} of ${cid} cannot be walked`)
  }
  try {
    yield* steps(bytes)
  } catch (cause) {
    throw new HoldfastError('INVALID_CID', `the block of ${cid} is not what its codec says`, { cause })
  }
}

function* pbSteps(bytes: Uint8Array): Generator<CID, void, undefined> {
  const { links } = readPbNode(bytes)
  for (let index = 0; index < links.length; index++) yield links.cid(index)
}

function* documentSteps(tokens: Iterable<DocumentToken>): Generator<CID | null, void, undefined> {
  for (const token of tokens) yield token.kind === 'link' ? cidOfLink(token) : null
}

/** State of a walk through a DAG. */
export interface WalkState {
  /** Keys of all distinct blocks found so far, visited or not. */
  seen: Set<string>
  /** Limit of these blocks. */
  maxBlocks: number
  signal?: AbortSignal | undefined
}

/**
 * Returns the links of a block that are not in `seen`, and adds them to it. The last link comes first, ready for a
 * stack.
 *
 * @throws HoldfastError `VALIDATION` at the first link over the limit; as {@link linksOf}
 */
export async function newLinks(cid: CID, bytes: Uint8Array, { seen, maxBlocks, signal }: WalkState): Promise<CID[]> {
  const links: CID[] = []
  for (const link of stepsThrough(cid, bytes)) {
    if (turnSpent()) await nextTurn(signal)
    const key = link === null ? null : dagKey(link)
    if (link === null || key === null || seen.has(key)) continue
    if (seen.size >= maxBlocks) throw tooMany(maxBlocks)
    seen.add(key)
    links.push(link)
  }
  return links.reverse()
}

function tooMany(maxBlocks: number): HoldfastError {
  const what = `the DAG has more than ${maxBlocks} blocks`
  return new HoldfastError('VALIDATION', `${what}, which is more than this node takes (pin.maxBlocks)`)
}
