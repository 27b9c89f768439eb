import type { CID } from 'multiformats/cid'
import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { dagKey } from '../../ipld/cid.ts'
import { newLinks } from './links.ts'

export interface WalkOptions {
  concurrency: number
  /** Levels below which nothing may be. */
  maxDepth?: number | undefined
  /**
   * Distinct blocks that the walk may know of, read or not: it remembers each, and a block of 2 MiB links to 50,000.
   * {@link ADMITTED} for a DAG that upload or fetch have bounded.
   */
  maxBlocks: number
  signal?: AbortSignal | undefined
}

/**
 * `maxBlocks` of a DAG that this node has admitted whole: `pin.maxBlocks` bounds what is fetched or sent as a CAR, and
 * forms and folders have no links but to their own blocks, which quotas count.
 */
export const ADMITTED = Number.POSITIVE_INFINITY

/** A block to be visited, and how it was come to. */
interface Step {
  cid: CID
  parent: CID | null
  depth: number
}

/**
 * What is done with a block. Returns its bytes if its links are to be followed, else null.
 *
 * @param parent what linked to it; null for the root
 * @param signal aborted when the walk is, or has failed elsewhere
 */
export type Visit = (cid: CID, parent: CID | null, signal: AbortSignal) => Promise<Uint8Array | null>

/**
 * Visits each distinct block of a DAG once, parents before their children, several at a time; those too that a CID
 * has in itself. Gives the loop back on the way.
 *
 * @throws the first error of any visit, once those under way have ended; HoldfastError `VALIDATION` for a bound.
 */
export async function walkDag(
  root: CID,
  visit: Visit,
  { concurrency, maxDepth = Number.POSITIVE_INFINITY, maxBlocks, signal: outer }: WalkOptions,
): Promise<void> {
  const seen = new Set([dagKey(root)])
  // The newest first: the frontier then stays as small as the DAG is deep.
  const frontier: Step[] = [{ cid: root, parent: null, depth: 1 }]
  const visits = new Set<Promise<void>>()
  const ended = new AbortController()
  const signal = outer === undefined ? ended.signal : AbortSignal.any([outer, ended.signal])
  let failure: { error: unknown } | null = null

  const start = (step: Step): void => {
    const task = follow(step)
      .catch((error: unknown) => {
        failure ??= { error }
        ended.abort(error)
      })
      .finally(() => visits.delete(task))
    visits.add(task)
  }
  const follow = async ({ cid, parent, depth }: Step): Promise<void> => {
    signal.throwIfAborted()
    const bytes = await visit(cid, parent, signal)
    if (bytes === null) return
    const links = await newLinks(cid, bytes, { seen, maxBlocks, signal })
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

/** What is said of a DAG that has more levels than the node takes. */
function tooDeep(maxDepth: number): HoldfastError {
  const what = `the DAG has more than ${maxDepth} levels`
  return new HoldfastError('VALIDATION', `${what}, which is more than this node takes (pin.maxDepth)`)
}
