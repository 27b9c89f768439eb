import type { CopyPlace, FreedCopies, FreedCopy } from '../../../src/catalogue/copies.ts'
import { isSpared } from '../../../src/catalogue/rules/copy-rules.ts'
import type { OwnedDag } from '../../../src/ledger/whole-dag.ts'
import type { Sql } from '../database/sql.ts'
import { NODE_NUMBER } from '../holds/backends.ts'
import { IS_GIVEN_UP } from '../nodes/node-states.ts'
import type { ContentParts } from '../records/content-change.ts'
import { NEWEST_SET_BACK } from '../schema/schema-set-backs.ts'
import { COPY_RUN, contentParams, FOLLOW_COPIES, LOCK_COPIES, ROOTS_OF_CONTENT } from './copy-rows.ts'

/** While a walk is open, or a node has not offered its content after a set-back, nothing is released. */
const MAY_FREE = `
  SELECT 1 FROM copy_walk WHERE agreed AND place IS NULL AND NOT EXISTS (
    SELECT 1 FROM nodes WHERE offered IS DISTINCT FROM (${NEWEST_SET_BACK}) AND NOT ${IS_GIVEN_UP})`
const SURPLUS = `
  SELECT id, multihash, codec, owner FROM copies
  WHERE node = $1 AND state IN ('surplus', 'going') AND due_at <= $2 ORDER BY id LIMIT $3`
const SET_STATE = 'UPDATE copies SET state = $2, due_at = $3, since = clock_timestamp() WHERE id = $1'
/**
 * The places that count: roots by the hold of one of their records, and compared copies. Their nodes have compared them
 * with their ledgers in the current run, and since the newest set-back.
 */
const PLACES = `
  WITH kept AS (${ROOTS_OF_CONTENT})
  SELECT nodes.name, nodes.id AS node, nodes.run,
    (SELECT hold_id FROM records WHERE root_id = kept.id AND hold_id IS NOT NULL ORDER BY id LIMIT 1) AS hold
  FROM kept JOIN nodes ON nodes.number = kept.${NODE_NUMBER} AND nodes.state = 'active'
  UNION ALL
  SELECT nodes.name, nodes.id, nodes.run, copies.hold_id FROM copies JOIN nodes ON nodes.name = copies.node
  WHERE multihash = $1 AND codec = $2 AND owner = $3 AND copies.state IN ('have', 'surplus') AND nodes.state = 'active'
    AND copies.run = ${COPY_RUN('nodes.run')}`
/** The sets of the content, with those of their nodes that can keep it. */
const SETS = `
  WITH kept AS (${ROOTS_OF_CONTENT})
  SELECT copies, ARRAY(SELECT id FROM nodes WHERE id = ANY(s.nodes) AND state = 'active') AS nodes FROM copy_sets s
  WHERE EXISTS (
    SELECT 1 FROM kept JOIN records ON root_id = kept.id AND root_id > 0 WHERE records.cluster_id = s.cluster_id)`

type FoundPlace = { [Name in keyof CopyPlace]: CopyPlace[Name] | null } & { name: string }

/** Releases copies of this node that no set wants, in three steps. */
export class PostgresFreedCopies implements FreedCopies {
  readonly #parts: ContentParts
  readonly #sql: Sql

  constructor(parts: ContentParts) {
    this.#parts = parts
    this.#sql = parts.database.reading
  }

  async begin(now: number, limit: number, later: number): Promise<FreedCopy[]> {
    const { database, holds } = this.#parts
    if ((await this.#sql.first(MAY_FREE)) === undefined) return []
    const going: FreedCopy[] = []
    for (const copy of await this.#sql.all<OwnedDag & { id: number }>(SURPLUS, [holds.node, now, limit])) {
      const places = await database.transaction(async sql => {
        if ((await lockedState(sql, copy)) === null) return null
        await sql.all(FOLLOW_COPIES, contentParams([copy]))
        const state = await lockedState(sql, copy)
        if (state !== 'surplus' && state !== 'going') return null
        const counted = await placesOf(sql, copy, holds.node)
        const isFree = isSpared(counted, await setsOf(sql, copy))
        await sql.run(SET_STATE, [copy.id, isFree ? 'going' : 'surplus', isFree ? now : later])
        return isFree ? counted : null
      })
      if (places !== null) going.push({ ...copy, places })
    }
    return going
  }

  async end(copy: FreedCopy, sound: readonly CopyPlace[], later: number): Promise<boolean> {
    const { database, holds } = this.#parts
    const isFreed = await database.transaction(async sql => {
      const mayFree = (await sql.first(MAY_FREE)) !== undefined
      if ((await lockedState(sql, copy)) !== 'going') return false
      const counted = await placesOf(sql, copy, holds.node)
      // A node that has started again meanwhile has another run.
      const still = counted.filter(({ node, run, hold }) =>
        sound.some(place => place.node === node && place.run === run && place.hold === hold),
      )
      if (!mayFree || !isSpared(still, await setsOf(sql, copy))) {
        await sql.run(SET_STATE, [copy.id, 'surplus', later])
        return false
      }
      const text = 'DELETE FROM copies WHERE id = $1 RETURNING hold_id AS "holdId"'
      const gone = await sql.first<{ holdId: string }>(text, [copy.id])
      await holds.void(sql, gone === undefined ? [] : [gone.holdId])
      return true
    })
    if (isFreed) await holds.releaseVoid()
    return isFreed
  }
}

/** Locks the copies of the content. Returns the state of one; null if it is gone. */
async function lockedState(
  sql: Sql,
  { id, multihash, codec, owner }: OwnedDag & { id: number },
): Promise<string | null> {
  const known = await sql.all<{ id: number; state: string }>(LOCK_COPIES, [multihash, codec, owner])
  return known.find(one => one.id === id)?.state ?? null
}

async function placesOf(sql: Sql, { multihash, codec, owner }: OwnedDag, self: string): Promise<CopyPlace[]> {
  const found = await sql.all<FoundPlace>(PLACES, [multihash, codec, owner])
  return found.flatMap(({ name, node, run, hold }) =>
    name === self || node === null || run === null || hold === null ? [] : [{ node, run, hold }],
  )
}

function setsOf(sql: Sql, { multihash, codec, owner }: OwnedDag): Promise<Array<{ nodes: string[]; copies: number }>> {
  return sql.all(SETS, [multihash, codec, owner])
}
