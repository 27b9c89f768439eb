import type { StatusChange } from '../../src/catalogue/fetches.ts'
import type { LostContent, LostNode, TakenOver, TakeOver } from '../../src/catalogue/lost-content.ts'
import { run } from '../../src/catalogue/rules/driver.ts'
import { fetchFor } from '../../src/catalogue/rules/fetch-rows.ts'
import { SET_FETCH } from '../../src/catalogue/rules/record-statements.ts'
import type { HeldRecord } from '../../src/catalogue/rules/removal-rules.ts'
import { checkTransition } from '../../src/domain/pin-status.ts'
import type { PlacedHold } from './begun-holds.ts'
import { ContentChange, type ContentParts } from './content-change.ts'
import { hasCopy } from './copy-rows.ts'
import { beginFetch, fetchParts } from './fetch-parts.ts'
import { LostRemains } from './lost-remains.ts'
import { runRule } from './postgres-driver.ts'
import { HELD_COLUMNS, lockRecords } from './record-rows.ts'
import type { StagedHold } from './shared-holds.ts'
import type { Sql } from './sql.ts'

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

/** The next state of a record. A `kept` record stays without content, as before. */
type Decided = { record: HeldRecord } & (
  | { kind: 'hold'; backendId: number; hold: PlacedHold }
  | { kind: 'fetch'; backendId: number; staged: StagedHold }
  | { kind: 'fail' | 'kept' }
)

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
  readonly #sql: Sql

  constructor(parts: ContentParts) {
    this.#parts = parts
    this.#remains = new LostRemains(parts.database, parts.holds)
    this.#sql = parts.database.reading
  }

  nodes(): Promise<LostNode[]> {
    return this.#sql.all<LostNode>("SELECT name, id, number FROM nodes WHERE state = 'forgetting' ORDER BY number")
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

  async #takeSome(accountId: string, ids: readonly string[], step: TakeOver): Promise<StatusChange[]> {
    const { database, holds } = this.#parts
    const records = await this.#sql.all<HeldRecord>(STILL_LOST, [ids, step.node.name])
    const decided: Decided[] = []
    try {
      for (const record of records) decided.push(await this.#decide(record, step))
      return await database.transaction(sql => this.#change(sql, accountId, decided, step), accountId)
    } finally {
      const unused = decided.flatMap(one =>
        one.kind === 'hold' ? one.hold.id : one.kind === 'fetch' ? one.staged.id : [],
      )
      await holds.discard(unused)
    }
  }

  async #decide(record: HeldRecord, { homeOf, canFetch, now }: TakeOver): Promise<Decided> {
    const { holds, ledger } = this.#parts
    if (record.status === 'failed') return { record, kind: 'kept' }
    const backendId = homeOf(record.clusterId)
    if (backendId === null) return { record, kind: 'fail' }
    const dag = ledger.find(backendId, record, record.owner)
    if (dag !== undefined && !ledger.isLostFrom(dag.id)) {
      const [hold] = await holds.place([{ backendId, stagedRootId: null, dag, ends: record.expiresAt }])
      if (hold != null) return { record, kind: 'hold', backendId, hold }
    }
    if (!(await canFetch(record))) return { record, kind: 'fail' }
    return { record, kind: 'fetch', backendId, staged: await holds.stage(backendId, now) }
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
      if (record.holdId !== null) former.push(record.holdId)
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
    await sql.run('UPDATE records SET hold_id = NULL, lost_with = $2 WHERE id = $1', [record.id, node.id])
    if (one.kind === 'hold') {
      const whole = await change.fulfil(record, one.hold, one.backendId, now)
      return [{ record: whole, from: record.status }]
    }
    if (one.kind === 'fetch') {
      const wanted = { backendId: one.backendId, record, owner: record.owner, now }
      const parts = fetchParts(database, holds)
      const fetch = await runRule(
        fetchFor(parts, wanted, () => beginFetch(parts, holds, wanted, one.staged)),
        sql,
      )
      const text = `the node ${node.id} was given up: the content is fetched again`
      const row = await change.wait(record, fetch.id, now, text)
      return row.status === record.status ? [] : [{ record: row, from: record.status }]
    }
    checkTransition(record.status, 'failed')
    const row = await change.lose(record, now, { code: 'LOST', text: `lost with node ${node.id}` })
    return [{ record: row, from: record.status }]
  }
}
