import type { NodeState } from '../../../src/catalogue/fleet.ts'
import type { Sql } from '../database/sql.ts'

/**
 * Begins the run of a node that reads streams in sealed frames. A run of version 0.3.0 has another beginning. A column
 * would still say so after a return to 0.3.0.
 */
export const FRAMES_RUN = 'frames-'

/** SQL condition: the node reads streams in sealed frames. */
export const READS_FRAMES = `COALESCE(starts_with(run, '${FRAMES_RUN}'), FALSE)`

/** SQL condition: the node has ended. Its row only keeps its number from being used again. */
export const HAS_ENDED = "state IN ('retired', 'forgotten')"

/** SQL condition: the node has ended or is about to be forgotten. No process may run as it. */
export const IS_GIVEN_UP = "state IN ('retired', 'forgetting', 'forgotten')"

/**
 * SQL condition: a record takes the content of an identical upload. Its own is on a node that retires or is being
 * forgotten, or waits for an offer after the database was set back.
 */
export const TAKES_CONTENT = `(
  EXISTS (
    SELECT 1 FROM holds JOIN nodes ON nodes.name = holds.node
    WHERE holds.id = records.hold_id AND nodes.state IN ('forgetting', 'retiring'))
  OR EXISTS (SELECT 1 FROM offers WHERE record_id = records.id))`

export function hasEnded(state: NodeState): boolean {
  return state === 'retired' || state === 'forgotten'
}

/** Changes the state of a node. Returns whether the node had the state `from`. */
export async function changeState(
  sql: Sql,
  name: string,
  { from, to, total = null }: { from: NodeState; to: NodeState; total?: number | null },
): Promise<boolean> {
  const text = `UPDATE nodes SET state = $3, state_at = clock_timestamp(), total = COALESCE($4, total)
    WHERE name = $1 AND state = $2`
  return (await sql.run(text, [name, from, to, total])) === 1
}
