import type { CID } from 'multiformats/cid'
import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { dagKey } from '../../ipld/cid.ts'
import { newLinks } from './links.ts'

export interface WalkOptions {
  concurrency: number
  maxDepth?: number | undefined
  /** Maximum number of distinct blocks found, visited or not. A block of 2 MiB can link to 50,000 others. */
  maxBlocks: number
  signal?: AbortSignal | undefined
}

/** No limit, for a DAG that this node has admitted: `pin.maxBlocks` or quotas already limited its number of blocks. */
export const ADMITTED = Number.POSITIVE_INFINITY

interface Step {
  cid: CID
  parent: CID | null
  depth: number
}

/**
 * Returns the block's bytes if the walk should follow its links, or null otherwise.
 *
 * @param parent null for the root
 * @param signal aborted if the walk is aborted or another visit fails
 */
export type Visit = (cid: CID, parent: CID | null, signal: AbortSignal) => Promise<Uint8Array | null>

/**
 * Visits each distinct block of a DAG once, including identity CIDs. Visits parents before children, and several blocks
 * concurrently.
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

function tooDeep(maxDepth: number): HoldfastError {
  const what = `the DAG has more than ${maxDepth} levels`
  return new HoldfastError('VALIDATION', `${what}, which is more than this node takes (pin.maxDepth)`)
}
