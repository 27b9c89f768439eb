import type { MovedRoot } from '../../../src/catalogue/copies.ts'
import { LockedAccounts } from '../access/locked-accounts.ts'
import type { Sql } from '../database/sql.ts'
import type { ContentParts } from './content-change.ts'

/** Records that one transaction changes. It locks their accounts for some ten milliseconds. */
const STEP = 25
/** Removed records have holds in the state `kept` until their undo period ends. */
const TABLES = ['records', 'removed_records'] as const

type Table = (typeof TABLES)[number]

interface MovedRecord {
  id: string
  accountId: string
  rootId: number
  holdId: string
  expiresAt: number | null
}

/** Switches all records of some content to complete content of this node. Returns their number. */
export async function moveRecords(parts: ContentParts, moved: readonly MovedRoot[]): Promise<number> {
  const staged = new Map(moved.map(root => [root.from, root]))
  let count = 0
  for (const table of TABLES) {
    for (const after = { root: 0, id: '' }; ; ) {
      const some = await parts.database.reading.all<MovedRecord>(
        `SELECT id, account_id AS "accountId", root_id AS "rootId", hold_id AS "holdId", expires_at AS "expiresAt"
         FROM ${table} WHERE root_id = ANY($1) AND hold_id IS NOT NULL AND (root_id, id) > ($2, $3)
         ORDER BY root_id, id LIMIT $4`,
        [[...staged.keys()], after.root, after.id, STEP],
      )
      const last = some.at(-1)
      if (last === undefined) break
      Object.assign(after, { root: last.rootId, id: last.id })
      count += await moveSome(parts, { table, some, staged })
    }
  }
  return count
}

async function moveSome(
  { database, holds }: ContentParts,
  { table, some, staged }: { table: Table; some: readonly MovedRecord[]; staged: Map<number, MovedRoot> },
): Promise<number> {
  const requests = some.flatMap(({ rootId, expiresAt }) => {
    const root = staged.get(rootId)
    if (root === undefined) return []
    const { backendId, stagedRootId, dag } = root
    return { backendId, stagedRootId, dag, ends: table === 'records' ? expiresAt : 0 }
  })
  const placed = (await holds.place(requests)).flatMap(hold => hold ?? [])
  const moves = some.flatMap((record, i) => {
    const hold = placed[i]
    return hold === undefined ? [] : { record, hold }
  })
  try {
    return await database.transaction(async sql => {
      await LockedAccounts.lock(
        sql,
        some.map(({ accountId }) => accountId),
      )
      const current = new Map((await lockMoved(sql, table, some)).map(record => [record.id, record]))
      const same = moves.filter(({ record }) => {
        const now = current.get(record.id)
        return now?.holdId === record.holdId && now.rootId === record.rootId
      })
      const used = same.map(({ hold }) => hold.id)
      await holds.use(sql, used)
      if (table === 'removed_records') await holds.mute(sql, used)
      await sql.run(
        `UPDATE ${table} SET hold_id = moved.hold_id, root_id = moved.root_id
         FROM unnest($1::text[], $2::text[], $3::bigint[]) AS moved (id, hold_id, root_id) WHERE ${table}.id = moved.id`,
        [same.map(({ record }) => record.id), used, same.map(({ hold }) => hold.rootId)],
      )
      await holds.void(
        sql,
        same.map(({ record }) => record.holdId),
      )
      return same.length
    })
  } finally {
    await holds.discard(placed.map(({ id }) => id))
  }
}

async function lockMoved(sql: Sql, table: Table, some: readonly MovedRecord[]) {
  return sql.all<Pick<MovedRecord, 'id' | 'rootId' | 'holdId'>>(
    `SELECT id, root_id AS "rootId", hold_id AS "holdId" FROM ${table} WHERE id = ANY($1) ORDER BY id FOR UPDATE`,
    [some.map(({ id }) => id)],
  )
}
