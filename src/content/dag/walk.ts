import type { CID } from 'multiformats/cid'
import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { dagKey } from '../../ipld/cid.ts'
import { newLinks } from './links.ts'

export interface WalkOptions {
  concurrency: number
  /** Limit of levels. */
  maxDepth?: number | undefined
  /**
   * Limit of distinct blocks found, visited or not: the walk remembers each, and a block of 2 MiB links to 50,000. Set
   * to {@link ADMITTED} for a DAG limited on its way in.
   */
  maxBlocks: number
  signal?: AbortSignal | undefined
}

/**
 * Value of `maxBlocks` for a DAG that this node has admitted whole. `pin.maxBlocks` limits fetches and CARs. Forms and
 * folders link only to their own blocks, which quotas limit.
 */
export const ADMITTED = Number.POSITIVE_INFINITY

/** A block to visit, and its parent. */
interface Step {
  cid: CID
  parent: CID | null
  depth: number
}

/**
 * Visits a block. Returns its bytes if the walk should follow its links, else null.
 *
 * @param parent block that links to it; null for the root
 * @param signal aborted with the walk, or after the failure of another visit
 */
export type Visit = (cid: CID, parent: CID | null, signal: AbortSignal) => Promise<Uint8Array | null>

/**
 * Visits each distinct block of a DAG once, parents before children, several concurrently, identity CIDs included.
 * Gives the event loop back.
 *
 * @throws the first error of any visit, after running visits have ended; HoldfastError `VALIDATION` for a limit.
 */
export async function walkDag(
  root: CID,
  visit: Visit,
  { concurrency, maxDepth = Number.POSITIVE_INFINITY, maxBlocks, signal: outer }: WalkOptions,
): Promise<void> {
  const seen = new Set([dagKey(root)])
  // The newest first, so that the frontier grows only with the depth of the DAG.
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

/** Returns the error for a DAG with too many levels. */
function tooDeep(maxDepth: number): HoldfastError {
  const what = `the DAG has more than ${maxDepth} levels`
  return new HoldfastError('VALIDATION', `${what}, which is more than this node takes (pin.maxDepth)`)
}
