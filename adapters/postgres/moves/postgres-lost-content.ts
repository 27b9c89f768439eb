import type { StatusChange } from '../../../src/catalogue/fetches.ts'
import type { LostContent, LostNode, TakenOver, TakeOver } from '../../../src/catalogue/lost-content.ts'
import { run } from '../../../src/catalogue/rules/driver.ts'
import { fetchFor, type WantedFetch } from '../../../src/catalogue/rules/fetch-rows.ts'
import { fetchRules } from '../../../src/catalogue/rules/fetch-rules.ts'
import { SET_FETCH } from '../../../src/catalogue/rules/record-statements.ts'
import type { HeldRecord } from '../../../src/catalogue/rules/removal-rules.ts'
import { checkTransition } from '../../../src/domain/pin-status.ts'
import { hasCopy } from '../copies/copy-rows.ts'
import { wantMoves } from '../copies/copy-sets.ts'
import { runRule } from '../database/postgres-driver.ts'
import type { Sql } from '../database/sql.ts'
import { NODE_NUMBER } from '../holds/backends.ts'
import type { PlacedHold } from '../holds/begun-holds.ts'
import { beginFetch, fetchParts } from '../holds/fetch-parts.ts'
import type { StagedHold } from '../holds/shared-holds.ts'
import { HELD_COLUMNS, lockRecords } from '../lists/record-rows.ts'
import { changeState } from '../nodes/node-states.ts'
import { ContentChange, type ContentParts } from '../records/content-change.ts'
import { LostRemains } from './lost-remains.ts'

const PAGE = 500
/** Records that one transaction changes. It locks their account for some ten milliseconds. */
const STEP = 25

interface Seen {
  id: string
  accountId: string
  clusterId: string
  isLost: boolean
  /** True if a node has a copy, and takes over the record. */
  hasCopy: boolean
}

interface FormerFetch extends Required<Pick<WantedFetch, 'origins' | 'owner' | 'possessor'>> {
  id: number
}

/** The next state of a record. A `kept` record stays without content, as before. */
type Decided = { record: HeldRecord } & (
  | { kind: 'hold'; backendId: number; hold: PlacedHold }
  | { kind: 'fetch'; backendId: number; staged: StagedHold; former: FormerFetch | undefined }
  | { kind: 'fail' | 'kept' }
)

const NODES = `
  SELECT name, id, number, state = 'retiring' AS "isRetiring" FROM nodes
  WHERE state = 'forgetting' OR (state = 'retiring' AND retire_to = $1) ORDER BY number`
const WAITING = `
  SELECT records.id, account_id AS "accountId" FROM (SELECT id FROM fetches WHERE node = $1 ORDER BY id LIMIT $2) AS running
  JOIN records ON fetch_id = running.id LIMIT $2`
const FETCHES = 'SELECT id, origins, owner, possessor FROM fetches WHERE id = ANY($1)'
/** A node without holds and fetches has no content that a record needs. */
const IS_EMPTY = `
  SELECT NOT EXISTS (SELECT 1 FROM holds WHERE node = $1) AND NOT EXISTS (SELECT 1 FROM fetches WHERE node = $1)
    AND NOT EXISTS (SELECT 1 FROM roots WHERE ${NODE_NUMBER} = $2) AS "isEmpty"`
/** SQL condition: the hold of a record, or its fetch, is on the lost node `$2`. */
const IS_LOST = `(COALESCE((SELECT node = $2 FROM holds WHERE holds.id = hold_id), FALSE)
  OR COALESCE((SELECT node = $2 FROM fetches WHERE fetches.id = fetch_id), FALSE))`
const SEEN = `
  SELECT id, account_id AS "accountId", cluster_id AS "clusterId", ${IS_LOST} AS "isLost", ${hasCopy('records')} AS "hasCopy"
  FROM records WHERE id > $1 ORDER BY id LIMIT $3`
/** Other nodes may have taken over records of the page meanwhile. Such a record has the hold of its new node. */
const STILL_LOST = `
  SELECT ${HELD_COLUMNS} FROM records WHERE id = ANY($1) AND ${IS_LOST} ORDER BY id`

export class PostgresLostContent implements LostContent {
  readonly #parts: ContentParts
  readonly #remains: LostRemains
  /** Nodes that retire, for which the triggers follow the records. A node of 0.3.0 may have begun. */
  readonly #followed = new Set<string>()
  readonly #sql: Sql

  constructor(parts: ContentParts) {
    this.#parts = parts
    this.#remains = new LostRemains(parts.database, parts.holds)
    this.#sql = parts.database.reading
  }

  nodes(): Promise<LostNode[]> {
    return this.#sql.all<LostNode>(NODES, [this.#parts.holds.node])
  }

  async keptClusters(): Promise<ReadonlySet<string>> {
    const text = "SELECT clusters FROM nodes WHERE state IN ('active', 'retiring')"
    const rows = await this.#sql.all<{ clusters: string | null }>(text)
    return new Set(rows.flatMap(({ clusters }) => Object.keys(JSON.parse(clusters ?? '{}') as object)))
  }

  fence(node: LostNode): Promise<boolean> {
    return this.#remains.fence(node)
  }

  finish(node: LostNode): Promise<boolean> {
    return this.#remains.remove(node)
  }

  async takeOver(step: TakeOver): Promise<TakenOver> {
    const seen = await this.#sql.all<Seen>(SEEN, [step.after, step.node.name, PAGE])
    const lost = seen.filter(({ isLost }) => isLost)
    const own = lost.filter(({ clusterId, hasCopy: isCopied }) => !isCopied && step.homeOf(clusterId) !== null)
    const changes: StatusChange[] = []
    let left = lost.length - own.length
    let taken = 0
    for (const [accountId, records] of Map.groupBy(own, one => one.accountId)) {
      const room = await this.#parts.pace.roomFor(this.#sql, accountId, records.length)
      left += records.length - room
      taken += room
      const ids = records.slice(0, room).map(({ id }) => id)
      for (let i = 0; i < ids.length; i += STEP) {
        changes.push(...(await this.#takeSome(accountId, ids.slice(i, i + STEP), step)))
      }
    }
    return { changes, taken, last: seen.length < PAGE ? null : (seen.at(-1)?.id ?? null), left }
  }

  async moveWaiting({ node, homeOf, now }: Parameters<LostContent['moveWaiting']>[0]) {
    if (!this.#followed.has(node.name)) await wantMoves(this.#parts.database)
    this.#followed.add(node.name)
    const found = await this.#sql.all<Pick<Seen, 'id' | 'accountId'>>(WAITING, [node.name, STEP])
    const step = { node, after: '', homeOf, canFetch: async () => true, now }
    const changes: StatusChange[] = []
    for (const [accountId, records] of Map.groupBy(found, one => one.accountId)) {
      const ids = records.map(({ id }) => id)
      changes.push(...(await this.#takeSome(accountId, ids, step)))
    }
    return { changes, isMore: found.length > 0 }
  }

  async finishRetirement(node: LostNode): Promise<boolean> {
    const { database, holds } = this.#parts
    await holds.voidExpired(node.name)
    if (!(await isEmpty(this.#sql, node))) return false
    return database.transaction(async sql => {
      // A statement that waits for the lock sees the new state, and begins no hold.
      await sql.run('LOCK TABLE holds IN SHARE ROW EXCLUSIVE MODE')
      return (await isEmpty(sql, node)) && changeState(sql, node.name, { from: 'retiring', to: 'retired' })
    })
  }

  async #takeSome(accountId: string, ids: readonly string[], step: TakeOver): Promise<StatusChange[]> {
    const { database, holds } = this.#parts
    const found = await this.#sql.all<HeldRecord>(STILL_LOST, [ids, step.node.name])
    // The content of a node that retires moves to copies.
    const records = found.filter(({ fetchId }) => !step.node.isRetiring || fetchId !== null)
    const fetchIds = records.flatMap(({ fetchId }) => fetchId ?? [])
    const fetches = new Map((await this.#sql.all<FormerFetch>(FETCHES, [fetchIds])).map(fetch => [fetch.id, fetch]))
    const decided: Decided[] = []
    try {
      for (const record of records) decided.push(await this.#decide(record, step, fetches.get(record.fetchId ?? 0)))
      return await database.transaction(sql => this.#change(sql, accountId, decided, step), accountId)
    } finally {
      const unused = decided.flatMap(one =>
        one.kind === 'hold' ? one.hold.id : one.kind === 'fetch' ? one.staged.id : [],
      )
      await holds.discard(unused)
      const rules = fetchRules(fetchParts(database, holds))
      if (step.node.isRetiring) for (const id of fetches.keys()) await rules.dropIfUnneeded(id)
    }
  }

  async #decide(record: HeldRecord, step: TakeOver, former?: FormerFetch): Promise<Decided> {
    const { node, homeOf, canFetch, now } = step
    const { holds, ledger } = this.#parts
    if (record.status === 'failed') return { record, kind: 'kept' }
    const backendId = homeOf(record.clusterId)
    if (backendId === null) return { record, kind: 'fail' }
    const dag = node.isRetiring ? undefined : ledger.find(backendId, record, record.owner)
    if (dag !== undefined && !ledger.isLostFrom(dag.id)) {
      const [hold] = await holds.place([{ backendId, stagedRootId: null, dag, ends: record.expiresAt }])
      if (hold != null) return { record, kind: 'hold', backendId, hold }
    }
    if (!(await canFetch(record))) return { record, kind: 'fail' }
    return { record, kind: 'fetch', backendId, staged: await holds.stage(backendId, now), former }
  }

  async #change(sql: Sql, accountId: string, decided: readonly Decided[], step: TakeOver): Promise<StatusChange[]> {
    const { holds } = this.#parts
    const change = await ContentChange.begin(sql, this.#parts, [accountId])
    const current = new Map(
      (
        await lockRecords(
          sql,
          decided.map(({ record }) => record.id),
        )
      ).map(record => [record.id, record]),
    )
    const changes: StatusChange[] = []
    const former: string[] = []
    for (const one of decided) {
      const record = current.get(one.record.id)
      const isSame = record?.holdId === one.record.holdId && record?.fetchId === one.record.fetchId
      if (record === undefined || !isSame || record.status !== one.record.status) continue
      if (record.holdId !== null && !step.node.isRetiring) former.push(record.holdId)
      changes.push(...(await this.#changeOne(sql, change, { ...one, record }, step)))
    }
    await holds.void(sql, former)
    await change.accounts.write()
    return changes
  }

  async #changeOne(sql: Sql, change: ContentChange, one: Decided, { node, now }: TakeOver): Promise<StatusChange[]> {
    const { database, holds } = this.#parts
    const { record } = one
    if (one.kind === 'kept') {
      await runRule(run(SET_FETCH, { id: record.id, fetchId: null }), sql)
      return []
    }
    if (one.kind === 'hold' && record.status === 'pinned') {
      await holds.use(sql, [one.hold.id])
      await sql.run('UPDATE records SET hold_id = $2, root_id = $3 WHERE id = $1', [
        record.id,
        one.hold.id,
        one.hold.rootId,
      ])
      return []
    }
    if (!node.isRetiring)
      await sql.run('UPDATE records SET hold_id = NULL, lost_with = $2 WHERE id = $1', [record.id, node.id])
    if (one.kind === 'hold') {
      const whole = await change.fulfil(record, one.hold, one.backendId, now)
      return [{ record: whole, from: record.status }]
    }
    if (one.kind === 'fetch') {
      const wanted = { owner: record.owner, ...one.former, backendId: one.backendId, record, now }
      const parts = fetchParts(database, holds)
      const fetch = await runRule(
        fetchFor(parts, wanted, () => beginFetch(parts, holds, wanted, one.staged)),
        sql,
      )
      const text = node.isRetiring
        ? `the node ${node.id} retires: another node fetches it`
        : `the node ${node.id} was given up: the content is fetched again`
      const row = await change.wait(record, fetch.id, now, text)
      return row.status === record.status && !node.isRetiring ? [] : [{ record: row, from: record.status }]
    }
    checkTransition(record.status, 'failed')
    const row = await change.lose(record, now, { code: 'LOST', text: `lost with node ${node.id}` })
    return [{ record: row, from: record.status }]
  }
}

async function isEmpty(sql: Sql, { name, number }: LostNode): Promise<boolean> {
  return (await sql.first<{ isEmpty: boolean }>(IS_EMPTY, [name, number]))?.isEmpty === true
}
