import type { CID } from 'multiformats/cid'
import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { CODEC, dagKey } from '../../ipld/cid.ts'
import { cborTokens } from './cbor-tokens.ts'
import { readPbNode } from './dag-pb.ts'
import { cidOfLink, type DocumentToken } from './document-token.ts'
import { jsonTokens } from './json-tokens.ts'

/** Iterators over the parts of a block, by codec. They yield each link, and null for every other part. */
const STEPS = new Map<number, (bytes: Uint8Array) => Iterable<CID | null>>([
  [CODEC.raw, () => []],
  // Plain CBOR and JSON have no links, even if the data looks like a link.
  [CODEC.cbor, () => []],
  [CODEC.json, () => []],
  [CODEC.dagPb, pbSteps],
  [CODEC.dagCbor, bytes => documentSteps(cborTokens(bytes))],
  [CODEC.dagJson, bytes => documentSteps(jsonTokens(bytes))],
])
const WITH_LINKS = new Set<number>([CODEC.dagPb, CODEC.dagCbor, CODEC.dagJson])

export function hasLinks(cid: CID): boolean {
  return WITH_LINKS.has(cid.code)
}

/**
 * Yields the links of a block in order, including duplicates.
 *
 * @param bytes must hash to the CID
 * @throws HoldfastError `INVALID_CID` if the bytes do not match the codec, or if the codec cannot be walked
 */
export function* linksOf(cid: CID, bytes: Uint8Array): Generator<CID, void, undefined> {
  for (const link of stepsThrough(cid, bytes)) if (link !== null) yield link
}

/**
 * Yields each link of a block, and null for every other part. At each null, the caller can yield to the event loop.
 *
 * @throws HoldfastError `INVALID_CID` if the bytes do not match the codec, or if the codec cannot be walked
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

export interface WalkState {
  /** Keys of the distinct blocks found so far, visited or not. */
  seen: Set<string>
  /** Maximum size of `seen`. */
  maxBlocks: number
  signal?: AbortSignal | undefined
}

/**
 * Adds the new links of a block to `seen`. Returns these links in reverse order, so that a stack returns the first link
 * first.
 *
 * @throws HoldfastError `VALIDATION` at the first link over the limit; `INVALID_CID` if the block cannot be parsed
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
