import type {
  Copies,
  CopyCounts,
  CopyPresence,
  DueCopy,
  FreedCopies,
  PlaceState,
} from '../../../src/catalogue/copies.ts'
import { type Clock, systemClock } from '../../../src/domain/clock.ts'
import type { OwnedDag } from '../../../src/ledger/whole-dag.ts'
import type { Sql } from '../database/sql.ts'
import { NODE_NUMBER } from '../holds/backends.ts'
import type { ContentParts } from '../records/content-change.ts'
import { NEWEST_SET_BACK } from '../schema/schema-set-backs.ts'
import { PostgresCopyPresence } from './copy-presence.ts'
import { COPY_RUN, contentParams, FOLLOW_COPIES, LOCK_COPIES, ROOTS_OF_CONTENT, rootsOf } from './copy-rows.ts'
import { endFollowing, wantSets } from './copy-sets.ts'
import { PostgresFreedCopies } from './freed-copies.ts'
import { MovedCopies } from './moved-copies.ts'

/** Roots that one transaction of the walk reads. */
const STEP = 100
const PLACE = 'SELECT place FROM copy_walk WHERE place IS NOT NULL FOR UPDATE SKIP LOCKED'
const MOVE_ON = 'UPDATE copy_walk SET place = $1'
const ROOTS = 'SELECT id, multihash, codec, owner FROM roots WHERE id > $1 ORDER BY id LIMIT $2'
const uncompared = (run: string): string => `
  SELECT id, multihash, codec, owner, hold_id AS "holdId" FROM copies
  WHERE node = $1 AND id > $2 AND hold_id IS NOT NULL AND run IS ${run} ORDER BY id LIMIT $3`
/** This reads all copies of the node. */
const UNCOMPARED = uncompared(`DISTINCT FROM ${COPY_RUN('$4')}`)
/** A removal makes the hold of a record the hold of a copy, at any time. */
const NEVER_COMPARED = uncompared('NULL')
/** Freeing that a stop has interrupted begins again. */
const COMPARED = `
  UPDATE copies SET run = ${COPY_RUN('$1')}, state = CASE state WHEN 'going' THEN 'surplus' ELSE state END WHERE id = ANY($2)`
const DAMAGED = `UPDATE copies SET state = 'damaged', due_at = 0 WHERE id = ANY($1)`
const LOST = `
  UPDATE copies SET state = 'wanted', hold_id = NULL, root_id = NULL, ends = NULL, run = NULL, due_at = 0 WHERE id = $1`
const IS_DUE = `node = $1 AND state IN ('wanted', 'damaged')`
const DUE = `
  SELECT id, '' AS "accountId", attempts, multihash, codec, owner, (
    SELECT cluster_id FROM (${rootsOf('copies')}) AS roots JOIN records ON records.root_id = roots.id LIMIT 1) AS "clusterId"
  FROM copies
  WHERE ${IS_DUE} AND is_fresh = $2 AND due_at <= $3 ORDER BY due_at, id LIMIT $4`
const NEXT_DUE = `SELECT due_at AS at FROM copies WHERE ${IS_DUE} AND is_fresh = $2 ORDER BY due_at LIMIT 1`
const RETRY = `UPDATE copies SET due_at = $3, attempts = $4, last_error = $5 WHERE id = $2 AND ${IS_DUE}`
const SOURCES = `
  SELECT DISTINCT nodes.id FROM (
    ${ROOTS_OF_CONTENT}) AS kept
  JOIN nodes ON nodes.number = kept.${NODE_NUMBER}
  WHERE nodes.name <> $4 AND nodes.id IS NOT NULL AND nodes.state IN ('active', 'retiring')
    AND EXISTS (SELECT 1 FROM holds WHERE holds.root_id = kept.id AND holds.state <> 'void')`
/** A node with records of the content may have a copy, too, for another cluster. The place of the record counts. */
const PLACES = `
  SELECT DISTINCT ON (node) node, state, reason FROM (
    SELECT nodes.id AS node, 'have' AS state, NULL AS reason, 0 AS rank FROM (${ROOTS_OF_CONTENT}) AS kept
    JOIN nodes ON nodes.number = kept.${NODE_NUMBER} AND nodes.state IN ('active', 'retiring')
    WHERE EXISTS (SELECT 1 FROM records WHERE root_id = kept.id)
    UNION ALL
    SELECT nodes.id, copies.state, last_error, 1 FROM copies
    JOIN nodes ON nodes.name = copies.node AND nodes.state IN ('active', 'retiring')
    WHERE multihash = $1 AND codec = $2 AND owner = $3) AS places
  WHERE node IS NOT NULL ORDER BY node, rank`
const COUNTED_FOR_MS = 10_000
const SINCE = '(extract(epoch FROM MIN(since)) * 1000)::bigint'
/** Two partial indexes have the few copies that are no `have`. The index by node counts all of them. */
const COUNTS = `
  SELECT state, COUNT(*) AS count, ${SINCE} AS since, MIN(last_error) AS reason FROM copies WHERE ${IS_DUE} GROUP BY state
  UNION ALL
  SELECT state, COUNT(*), NULL, NULL FROM copies WHERE node = $1 AND state IN ('surplus', 'going') GROUP BY state
  UNION ALL SELECT 'have', COUNT(*), NULL, NULL FROM copies WHERE node = $1`
const HAVE = `
  UPDATE copies SET state = 'have', hold_id = $2, root_id = $3, ends = 0, run = ${COPY_RUN('$4')}, since = clock_timestamp(),
    attempts = 0, due_at = 0, is_fresh = FALSE, last_error = NULL
  WHERE id = $1`

interface KnownCopy extends OwnedDag {
  id: number
  holdId: string
}

interface Counted {
  state: PlaceState['state']
  count: number
  since: number | null
  reason: string | null
}

interface LockedCopy {
  id: number
  state: string
  holdId: string | null
}

export class PostgresCopies implements Copies {
  readonly #parts: ContentParts
  readonly #run: string
  readonly #sql: Sql
  readonly freed: FreedCopies
  readonly presence: CopyPresence
  readonly #moved: MovedCopies
  /** The last copy that the unfinished comparison has seen. */
  #compared = 0
  /** The set-backs, or '' for none, for which a comparison of all copies has begun, and for which one has ended. */
  #since: { begun: string | null; ended: string | null } = { begun: null, ended: null }

  readonly #clock: Clock
  #counted: { counts: Promise<CopyCounts>; until: number } | null = null

  /** @param run the id of this run of the node */
  constructor(parts: ContentParts, run: string, clock: Clock = systemClock) {
    this.#parts = parts
    this.#clock = clock
    this.#run = run
    this.#sql = parts.database.reading
    this.freed = new PostgresFreedCopies(parts)
    this.#moved = new MovedCopies(parts)
    this.presence = new PostgresCopyPresence(parts.database, parts.holds.node)
  }

  async walk(): Promise<boolean> {
    const isMore = await this.#parts.database.transaction(async sql => {
      await wantSets(sql)
      const walk = await sql.first<{ place: number }>(PLACE)
      if (walk === undefined) return false
      const roots = await sql.all<OwnedDag & { id: number }>(ROOTS, [walk.place, STEP])
      if (roots.length > 0) await sql.all(FOLLOW_COPIES, contentParams(roots))
      const last = roots.length < STEP ? null : (roots.at(-1)?.id ?? null)
      await sql.run(MOVE_ON, [last])
      return last !== null
    })
    if (!isMore) await endFollowing(this.#parts.database)
    return isMore
  }

  async compare(): Promise<boolean> {
    const { database, holds, ledger } = this.#parts
    const newest = (await this.#sql.first<{ id: string }>(NEWEST_SET_BACK))?.id ?? ''
    if (this.#compared === 0) this.#since.begun = newest
    const page = [this.#node, this.#compared, STEP]
    const found =
      this.#since.ended === newest
        ? await this.#sql.all<KnownCopy>(NEVER_COMPARED, page)
        : await this.#sql.all<KnownCopy>(UNCOMPARED, [...page, this.#run])
    const ids = { sound: [] as number[], damaged: [] as number[] }
    for (const copy of found) {
      const root = ledger.rootHeldBy(copy.holdId)
      if (root === undefined) await this.#lost(copy)
      else ids[ledger.isLostFrom(root.id) ? 'damaged' : 'sound'].push(copy.id)
    }
    await database.transaction(async sql => {
      await sql.run(COMPARED, [this.#run, [...ids.sound, ...ids.damaged]])
      await sql.run(DAMAGED, [ids.damaged])
    })
    if (found.length > 0) await holds.releaseVoid()
    this.#compared = found.length < STEP ? 0 : (found.at(-1)?.id ?? 0)
    if (this.#compared === 0 && this.#since.begun === newest) this.#since.ended = newest
    return found.length === STEP
  }

  promote(): Promise<boolean> {
    return this.#moved.promote()
  }

  /** Wants a copy again that the ledger lacks: the directory is of an earlier time, or another one. */
  async #lost({ id, holdId, ...dag }: KnownCopy): Promise<void> {
    const { database, holds } = this.#parts
    await database.transaction(async sql => {
      const known = await sql.all<LockedCopy>(LOCK_COPIES, [dag.multihash, dag.codec, dag.owner])
      if (known.find(one => one.id === id)?.holdId !== holdId) return
      await sql.run(LOST, [id])
      await sql.all(FOLLOW_COPIES, contentParams([dag]))
      await holds.void(sql, [holdId])
    })
  }

  due({ isFresh, now, limit }: Parameters<Copies['due']>[0]): Promise<DueCopy[]> {
    return this.#sql.all<DueCopy>(DUE, [this.#node, isFresh, now, limit])
  }

  async nextDue(isFresh: boolean): Promise<number | null> {
    return (await this.#sql.first<{ at: number }>(NEXT_DUE, [this.#node, isFresh]))?.at ?? null
  }

  placesOf({ multihash, codec, owner }: OwnedDag): Promise<PlaceState[]> {
    return this.#sql.all<PlaceState>(PLACES, [multihash, codec, owner])
  }

  counts(): Promise<CopyCounts> {
    const now = this.#clock.now()
    if (this.#counted !== null && now < this.#counted.until) return this.#counted.counts
    const counts = this.#count()
    this.#counted = { counts, until: now + COUNTED_FOR_MS }
    counts.catch(() => {
      this.#counted = null
    })
    return counts
  }

  async #count(): Promise<CopyCounts> {
    const found = await this.#sql.all<Counted>(COUNTS, [this.#node])
    const states = { have: 0, wanted: 0, damaged: 0, surplus: 0, going: 0 }
    for (const { state, count } of found) {
      states[state] += count
      if (state !== 'have') states.have -= count
    }
    const since = found.flatMap(one => one.since ?? [])
    const waitsSince = since.length === 0 ? null : Math.min(...since)
    return { states, waitsSince, reason: found.find(one => one.reason !== null)?.reason ?? null }
  }

  async sourcesOf({ multihash, codec, owner }: OwnedDag): Promise<string[]> {
    const found = await this.#sql.all<{ id: string }>(SOURCES, [multihash, codec, owner, this.#node])
    return found.map(({ id }) => id)
  }

  async take(copy: DueCopy, { backendId, stagedRootId, dag }: Parameters<Copies['take']>[1]): Promise<boolean> {
    const { database, holds } = this.#parts
    const isBack = await this.#moved.takeBack(copy, { backendId, stagedRootId, dag })
    // Nobody can read the content before the catalogue gives the hold another end.
    const [hold] = await holds.place([{ backendId, stagedRootId: isBack ? null : stagedRootId, dag, ends: 0 }])
    if (hold == null) return false
    let isTaken = false
    try {
      const take = async (sql: Sql): Promise<boolean> => {
        const known = await sql.all<LockedCopy>(LOCK_COPIES, [copy.multihash, copy.codec, copy.owner])
        const own = known.find(({ id }) => id === copy.id)
        if (own?.state !== 'wanted' && own?.state !== 'damaged') return false
        // These statements run in this order, and are sent together.
        await Promise.all([
          holds.use(sql, [hold.id]),
          sql.run(HAVE, [copy.id, hold.id, hold.rootId, this.#run]),
          sql.all(FOLLOW_COPIES, contentParams([copy])),
        ])
        if (own.holdId !== null) await holds.void(sql, [own.holdId])
        return true
      }
      isTaken = await database.transaction(take, null, true)
    } finally {
      if (!isTaken) await holds.discard([hold.id])
    }
    if (isTaken) await this.#moved.settleTaken(copy.id)
    return isTaken
  }

  async retry({ id, attempts }: DueCopy, at: number, reason: string): Promise<void> {
    await this.#parts.database.command(RETRY, [this.#node, id, at, attempts, reason])
  }

  get #node(): string {
    return this.#parts.holds.node
  }
}
