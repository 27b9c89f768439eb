import type { StatusChange } from '../../src/catalogue/fetches.ts'
import type { MovedRoot, Retirements, RetiringNode, RetiringRoot } from '../../src/catalogue/retirements.ts'
import { run } from '../../src/catalogue/rules/driver.ts'
import { fetchFor } from '../../src/catalogue/rules/fetch-rows.ts'
import { fetchRules } from '../../src/catalogue/rules/fetch-rules.ts'
import { SET_FETCH } from '../../src/catalogue/rules/record-statements.ts'
import { NODE_NUMBER } from './backends.ts'
import { ContentChange, type ContentParts } from './content-change.ts'
import { beginFetch, fetchParts } from './fetch-parts.ts'
import { moveRecords } from './moved-records.ts'
import { changeState } from './node-states.ts'
import { runRule } from './postgres-driver.ts'
import { getRecord, lockRecords } from './record-rows.ts'
import type { Sql } from './sql.ts'

/** Roots of all nodes that one statement reads, and waiting records that one step moves. */
const PAGE = 500
const STEP = 25
const NODES = `SELECT name, id, number FROM nodes WHERE state = 'retiring' AND retire_to = $1 ORDER BY number`
/**
 * The content of offers alone does not move: the offers end. A limit keeps PostgreSQL from reading all records into a hash.
 */
const ROOTS = `
  SELECT id, codec, multihash, owner, ${NODE_NUMBER} = $1 AND (
      COALESCE((SELECT TRUE FROM records WHERE root_id = one.id LIMIT 1), FALSE)
      OR COALESCE((SELECT TRUE FROM removed_records WHERE root_id = one.id LIMIT 1), FALSE)) AS "isOwn",
    (SELECT cluster_id FROM records WHERE root_id = one.id LIMIT 1) AS "clusterId"
  FROM (SELECT id, codec, multihash, owner, backend_id FROM roots WHERE id > $2 ORDER BY id LIMIT $3) AS one ORDER BY id`
const WAITING = `
  SELECT records.id, account_id AS "accountId", cluster_id AS "clusterId", fetch_id AS "fetchId", origins, running.owner, possessor
  FROM (SELECT id, origins, owner, possessor FROM fetches WHERE node = $1 ORDER BY id LIMIT $2) AS running
  JOIN records ON fetch_id = running.id LIMIT $2`
/** A node without holds and fetches has no content that a record needs. */
const IS_EMPTY = `
  SELECT NOT EXISTS (SELECT 1 FROM holds WHERE node = $1) AND NOT EXISTS (SELECT 1 FROM fetches WHERE node = $1)
    AND NOT EXISTS (SELECT 1 FROM roots WHERE ${NODE_NUMBER} = $2) AS "isEmpty"`

interface Waiting {
  id: string
  accountId: string
  clusterId: string
  fetchId: number
  origins: string[]
  owner: number
  possessor: number
}

export class PostgresRetirements implements Retirements {
  readonly #parts: ContentParts
  readonly #sql: Sql

  constructor(parts: ContentParts) {
    this.#parts = parts
    this.#sql = parts.database.reading
  }

  nodes(): Promise<RetiringNode[]> {
    return this.#sql.all<RetiringNode>(NODES, [this.#parts.holds.node])
  }

  async roots({ number }: RetiringNode, after: number) {
    const found = await this.#sql.all<RetiringRoot & { isOwn: boolean }>(ROOTS, [number, after, PAGE])
    const roots = found.filter(({ isOwn }) => isOwn)
    return { roots, last: found.length < PAGE ? null : (found.at(-1)?.id ?? null) }
  }

  move(moved: readonly MovedRoot[]): Promise<number> {
    return moveRecords(this.#parts, moved)
  }

  async moveWaiting({ node, homeOf, now }: Parameters<Retirements['moveWaiting']>[0]) {
    const found = await this.#sql.all<Waiting>(WAITING, [node.name, STEP])
    const changes: StatusChange[] = []
    for (const waiting of found) {
      changes.push(...(await this.#moveWaiting(waiting, { node, backendId: homeOf(waiting.clusterId), now })))
    }
    return { changes, count: found.length }
  }

  async finish(node: RetiringNode): Promise<boolean> {
    const { database, holds } = this.#parts
    await holds.voidExpired(node.name)
    if (!(await isEmpty(this.#sql, node))) return false
    return database.transaction(async sql => {
      // A statement that waits for the lock sees the new state, and begins no hold.
      await sql.run('LOCK TABLE holds IN SHARE ROW EXCLUSIVE MODE')
      return (await isEmpty(sql, node)) && changeState(sql, node.name, { from: 'retiring', to: 'retired' })
    })
  }

  async #moveWaiting(
    { id, accountId, fetchId, origins, owner, possessor }: Waiting,
    { node, backendId, now }: { node: RetiringNode; backendId: number; now: number },
  ): Promise<StatusChange[]> {
    const { database, holds } = this.#parts
    const fetches = fetchParts(database, holds)
    const staged = await holds.stage(backendId, now)
    try {
      const changes = await database.transaction(async sql => {
        const change = await ContentChange.begin(sql, this.#parts, [accountId])
        const record = await getRecord(sql, id)
        if (record?.fetchId !== fetchId) return []
        const wanted = { backendId, record, owner, possessor, origins, now }
        const fetch =
          record.status === 'failed'
            ? null
            : await runRule(
                fetchFor(fetches, wanted, () => beginFetch(fetches, holds, wanted, staged)),
                sql,
              )
        const [current] = await lockRecords(sql, [id])
        if (current?.fetchId !== fetchId || current.status !== record.status) return []
        if (fetch === null) {
          await runRule(run(SET_FETCH, { id, fetchId: null }), sql)
          return []
        }
        const row = await change.wait(current, fetch.id, now, `the node ${node.id} retires: another node fetches it`)
        await change.accounts.write()
        return [{ record: row, from: record.status }]
      }, accountId)
      await fetchRules(fetches).dropIfUnneeded(fetchId)
      return changes
    } finally {
      await holds.discard([staged.id])
    }
  }
}

async function isEmpty(sql: Sql, { name, number }: RetiringNode): Promise<boolean> {
  return (await sql.first<{ isEmpty: boolean }>(IS_EMPTY, [name, number]))?.isEmpty === true
}
