import type { CID } from 'multiformats/cid'
import { CODEC, dagKey } from '../../domain/cid.ts'
import { nextTurn, turnSpent } from '../../domain/concurrency/turns.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { cborTokens } from './cbor-tokens.ts'
import { readPbNode } from './dag-pb.ts'
import type { DocumentToken } from './document-token.ts'
import { jsonTokens } from './json-tokens.ts'

/** Levels that a DAG may have unless `pin.maxDepth` says otherwise. */
export const DEFAULT_MAX_DEPTH = 1_024

/** By codec, the steps through a block: what it links to, and null for whatever else a step comes to. */
const STEPS = new Map<number, (bytes: Uint8Array) => Iterable<CID | null>>([
  [CODEC.raw, () => []],
  // Plain CBOR and JSON have no links, whatever they say.
  [CODEC.cbor, () => []],
  [CODEC.json, () => []],
  [CODEC.dagPb, pbSteps],
  [CODEC.dagCbor, bytes => documentSteps(cborTokens(bytes))],
  [CODEC.dagJson, bytes => documentSteps(jsonTokens(bytes))],
])
const WITH_LINKS = new Set<number>([CODEC.dagPb, CODEC.dagCbor, CODEC.dagJson])

/** Whether blocks of this codec can have links. */
export function hasLinks(cid: CID): boolean {
  return WITH_LINKS.has(cid.code)
}

/**
 * What a block links to, in order, repeats included.
 *
 * @param bytes what hashes to the CID
 * @throws HoldfastError `INVALID_CID` if they are not what its codec says, or the codec cannot be walked.
 */
export function linksOf(cid: CID, bytes: Uint8Array): CID[] {
  return [...stepsThrough(cid, bytes)].filter(link => link !== null)
}

/** A block can have hundreds of thousands of links, and millions of other things. @throws as {@link linksOf} */
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
  for (const token of tokens) yield token.kind === 'link' ? token.cid : null
}

export interface WalkOptions {
  concurrency: number
  /** Levels below which nothing may be. */
  maxDepth?: number | undefined
  signal?: AbortSignal | undefined
}

/** A block to be visited, and how it was come to. */
interface Step {
  cid: CID
  parent: CID | null
  depth: number
}

/**
 * Visits each distinct block of a DAG once, parents before their children, several at a time; those too that a CID
 * has in itself. Gives the loop back on the way.
 *
 * @param visit returns the block's bytes if its links are to be followed, else null; it is told what linked to the
 * block, null for the root
 * @throws the first error of any visit, once those under way have ended; HoldfastError `VALIDATION` for the depth.
 */
export async function walkDag(
  root: CID,
  visit: (cid: CID, parent: CID | null) => Promise<Uint8Array | null>,
  { concurrency, maxDepth = Number.POSITIVE_INFINITY, signal }: WalkOptions,
): Promise<void> {
  const seen = new Set([dagKey(root)])
  // The newest first: the frontier then stays as small as the DAG is deep.
  const frontier: Step[] = [{ cid: root, parent: null, depth: 1 }]
  const visits = new Set<Promise<void>>()
  let failure: { error: unknown } | null = null

  const start = (step: Step): void => {
    const task = follow(step)
      .catch((error: unknown) => {
        failure ??= { error }
      })
      .finally(() => visits.delete(task))
    visits.add(task)
  }
  const follow = async ({ cid, parent, depth }: Step): Promise<void> => {
    signal?.throwIfAborted()
    const bytes = await visit(cid, parent)
    if (bytes === null) return
    const links = await newLinks(cid, bytes, seen, signal)
    if (links.length > 0 && depth >= maxDepth) throw tooDeep(maxDepth)
    for (const link of links) frontier.push({ cid: link, parent: cid, depth: depth + 1 })
  }

  while ((frontier.length > 0 || visits.size > 0) && failure === null) {
    while (visits.size < concurrency) {
      const next = frontier.pop()
      if (next === undefined) break
      start(next)
    }
    await Promise.race(visits)
    if (turnSpent()) await nextTurn()
  }
  await Promise.all(visits)
  if (failure !== null) throw (failure as { error: unknown }).error
}

/** The links of a block that are not among those seen, and are then; the last one first, to be pushed on a frontier. */
export async function newLinks(
  cid: CID,
  bytes: Uint8Array,
  seen: Set<string>,
  signal: AbortSignal | undefined,
): Promise<CID[]> {
  const links: CID[] = []
  for (const link of stepsThrough(cid, bytes)) {
    if (turnSpent()) await nextTurn(signal)
    const key = link === null ? null : dagKey(link)
    if (link === null || key === null || seen.has(key)) continue
    seen.add(key)
    links.push(link)
  }
  return links.reverse()
}

/** What is said of a DAG that has more levels than the node takes. */
export function tooDeep(maxDepth: number): HoldfastError {
  const what = `the DAG has more than ${maxDepth} levels`
  return new HoldfastError('VALIDATION', `${what}, which is more than this node takes (pin.maxDepth)`)
}
