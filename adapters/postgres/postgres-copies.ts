import type { Copies, DueCopy } from '../../src/catalogue/copies.ts'
import type { OwnedDag } from '../../src/ledger/whole-dag.ts'
import { NODE_NUMBER } from './backends.ts'
import type { ContentParts } from './content-change.ts'
import { wantSets } from './copy-sets.ts'
import type { Sql } from './sql.ts'

/** Roots that one transaction of the walk reads. */
const STEP = 100
const PLACE = 'SELECT place FROM copy_walk WHERE place IS NOT NULL FOR UPDATE SKIP LOCKED'
const MOVE_ON = 'UPDATE copy_walk SET place = $1'
const ROOTS = 'SELECT id, multihash, codec, owner FROM roots WHERE id > $1 ORDER BY id LIMIT $2'
const FOLLOW = `
  SELECT follow_copies(array_agg(multihash), array_agg(codec), array_agg(owner)) FROM (
    SELECT DISTINCT multihash, codec, owner
    FROM unnest($1::bytea[], $2::bigint[], $3::bigint[]) AS given (multihash, codec, owner)) AS one`
const IS_DUE = `node = $1 AND state IN ('wanted', 'damaged')`
const DUE = `
  SELECT id, '' AS "accountId", attempts, multihash, codec, owner FROM copies
  WHERE ${IS_DUE} AND due_at <= $2 ORDER BY due_at, id LIMIT $3`
const NEXT_DUE = `SELECT due_at AS at FROM copies WHERE ${IS_DUE} ORDER BY due_at LIMIT 1`
const RETRY = `UPDATE copies SET due_at = $3, attempts = $4, last_error = $5 WHERE id = $2 AND ${IS_DUE}`
/** A planner that saw both owners in one condition could use no index of roots. */
const rootsOf = (owner: string): string => `
  SELECT id, backend_id FROM roots WHERE multihash = $1 AND codec = $2 AND ${owner}`
const SOURCES = `
  SELECT DISTINCT nodes.id FROM (
    ${rootsOf('owner = 0 AND $3 = 0')} UNION ALL ${rootsOf('owner <> 0 AND owner = $3')}) AS kept
  JOIN nodes ON nodes.number = kept.${NODE_NUMBER}
  WHERE nodes.name <> $4 AND nodes.id IS NOT NULL AND nodes.state IN ('active', 'retiring')
    AND EXISTS (SELECT 1 FROM holds WHERE holds.root_id = kept.id AND holds.state <> 'void')`
/** Locks the copies of the content in one order. */
const LOCK = `
  SELECT id, state, hold_id AS "holdId" FROM copies WHERE multihash = $1 AND codec = $2 AND owner = $3
  ORDER BY node FOR UPDATE`
const HAVE = `
  UPDATE copies SET state = 'have', hold_id = $2, root_id = $3, ends = 0, run = $4, since = clock_timestamp(),
    attempts = 0, due_at = 0, last_error = NULL
  WHERE id = $1`

interface LockedCopy {
  id: number
  state: string
  holdId: string | null
}

export class PostgresCopies implements Copies {
  readonly #parts: ContentParts
  readonly #run: string
  readonly #sql: Sql

  /** @param run the id of this run of the node */
  constructor(parts: ContentParts, run: string) {
    this.#parts = parts
    this.#run = run
    this.#sql = parts.database.reading
  }

  walk(): Promise<boolean> {
    return this.#parts.database.transaction(async sql => {
      await wantSets(sql)
      const walk = await sql.first<{ place: number }>(PLACE)
      if (walk === undefined) return false
      const roots = await sql.all<OwnedDag & { id: number }>(ROOTS, [walk.place, STEP])
      if (roots.length > 0) await follow(sql, roots)
      const last = roots.length < STEP ? null : (roots.at(-1)?.id ?? null)
      await sql.run(MOVE_ON, [last])
      return last !== null
    })
  }

  due(now: number, limit: number): Promise<DueCopy[]> {
    return this.#sql.all<DueCopy>(DUE, [this.#node, now, limit])
  }

  async nextDue(): Promise<number | null> {
    return (await this.#sql.first<{ at: number }>(NEXT_DUE, [this.#node]))?.at ?? null
  }

  async sourcesOf({ multihash, codec, owner }: OwnedDag): Promise<string[]> {
    const found = await this.#sql.all<{ id: string }>(SOURCES, [multihash, codec, owner, this.#node])
    return found.map(({ id }) => id)
  }

  async take(copy: DueCopy, { backendId, stagedRootId, dag }: Parameters<Copies['take']>[1]): Promise<boolean> {
    const { database, holds } = this.#parts
    // Nobody can read the content before the catalogue gives the hold another end.
    const [hold] = await holds.place([{ backendId, stagedRootId, dag, ends: 0 }])
    if (hold == null) return false
    try {
      const isTaken = await database.transaction(async sql => {
        const known = await sql.all<LockedCopy>(LOCK, [copy.multihash, copy.codec, copy.owner])
        const own = known.find(({ id }) => id === copy.id)
        if (own?.state !== 'wanted' && own?.state !== 'damaged') return false
        await holds.use(sql, [hold.id])
        await sql.run(HAVE, [copy.id, hold.id, hold.rootId, this.#run])
        await follow(sql, [copy])
        if (own.holdId !== null) await holds.void(sql, [own.holdId])
        return true
      })
      if (isTaken) await holds.releaseVoid()
      return isTaken
    } finally {
      await holds.discard([hold.id])
    }
  }

  async retry({ id, attempts }: DueCopy, at: number, reason: string): Promise<void> {
    await this.#parts.database.command(RETRY, [this.#node, id, at, attempts, reason])
  }

  get #node(): string {
    return this.#parts.holds.node
  }
}

async function follow(sql: Sql, contents: readonly OwnedDag[]): Promise<void> {
  await sql.all(FOLLOW, [
    contents.map(({ multihash }) => multihash),
    contents.map(({ codec }) => codec),
    contents.map(({ owner }) => owner),
  ])
}
