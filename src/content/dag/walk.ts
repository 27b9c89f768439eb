import type { CID } from 'multiformats/cid'
import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { dagKey } from '../../ipld/cid.ts'
import { newLinks } from './links.ts'

export interface WalkOptions {
  concurrency: number
  /** Maximum number of levels. */
  maxDepth?: number | undefined
  /**
   * Maximum number of distinct blocks found, including blocks not visited yet. The walk remembers every block it has
   * found, and a block of 2 MiB can link to 50,000 others. Use {@link ADMITTED} for a DAG that this node has already
   * admitted.
   */
  maxBlocks: number
  signal?: AbortSignal | undefined
}

/**
 * Value of `maxBlocks` for a DAG that this node has admitted. The number of its blocks was already limited: for a fetch
 * or a CAR by `pin.maxBlocks`, for a form or folder by quotas.
 */
export const ADMITTED = Number.POSITIVE_INFINITY

/** A block to visit, with its parent and its level. */
interface Step {
  cid: CID
  parent: CID | null
  depth: number
}

/**
 * Visits a block. Returns the block's bytes if the walk should follow its links, or null otherwise.
 *
 * @param parent the block that links to this block; null for the root
 * @param signal aborted if the walk is aborted or another visit fails
 */
export type Visit = (cid: CID, parent: CID | null, signal: AbortSignal) => Promise<Uint8Array | null>

/**
 * Visits each distinct block of a DAG once, including identity CIDs. Visits parents before children, and several blocks
 * concurrently. Yields to the event loop.
 *
 * @throws the first error of any visit, after running visits have ended; HoldfastError `VALIDATION` if the DAG exceeds
 * a limit
 */
export async function walkDag(
  root: CID,
  visit: Visit,
  { concurrency, maxDepth = Number.POSITIVE_INFINITY, maxBlocks, signal: outer }: WalkOptions,
): Promise<void> {
  const seen = new Set([dagKey(root)])
  // Used as a stack, so that it grows with the depth of the DAG and not with the number of its blocks.
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
