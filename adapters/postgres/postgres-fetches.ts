import type {
  Fetches,
  FetchFailure,
  FetchRequest,
  FetchRow,
  RequestedPin,
  StatusChange,
} from '../../src/catalogue/fetches.ts'
import type { PinLimits } from '../../src/catalogue/records.ts'
import { dueByAccount } from '../../src/catalogue/rules/due-by-account.ts'
import { checkTransition, type StatusReason } from '../../src/domain/pin-status.ts'
import type { DagIdentity } from '../../src/ipld/cid.ts'
import type { WholeDag } from '../../src/ledger/whole-dag.ts'
import { ContentChange, type ContentParts, NeedsHold } from './content-change.ts'
import { type Delivery, deliverSome } from './deliver.ts'
import {
  changeSome,
  dropIfUnneeded,
  FETCH_COLUMNS,
  fetchFor,
  isWanted,
  leaveToOther,
  lockFetch,
  STEP,
  type StagedRoot,
  type StatusStep,
} from './fetch-rows.ts'
import type { Postgres } from './postgres.ts'
import { getRecord, identicalRecord, lockRecords, setFetch, setStatus } from './record-rows.ts'
import { putRoot } from './shared-holds.ts'
import type { Sql } from './sql.ts'

const TRIED_AGAIN: StatusReason = { code: null, text: 'tried again' }
const RESTARTED: StatusReason = { code: null, text: 'the node was restarted' }

/** Fetches in PostgreSQL, each into the ledger of the node that was asked first. */
export class PostgresFetches implements Fetches {
  readonly #parts: ContentParts
  readonly #database: Postgres
  readonly #sql: Sql

  constructor(parts: ContentParts) {
    this.#parts = parts
    this.#database = parts.database
    this.#sql = parts.database.reading
  }

  async request(request: FetchRequest): Promise<RequestedPin> {
    const { holds } = this.#parts
    const { backendId, record, now } = request
    for (let isAgain = false; ; isAgain = true) {
      const isThere = !isAgain && (await this.find(backendId, record)) !== undefined
      const staged = isThere ? null : await holds.stage(backendId, now)
      try {
        const { usesStaged, ...made } = await this.#database.transaction(
          sql => this.#request(sql, request, staged),
          record.accountId,
        )
        if (staged !== null && !usesStaged) await holds.giveUp([staged.id])
        return made
      } catch (error) {
        if (staged !== null) await holds.giveUp([staged.id])
        if (!(error instanceof NeedsHold)) throw error
      }
    }
  }

  async start(fetchId: number, now: number): Promise<{ fetch: FetchRow; changes: StatusChange[] } | undefined> {
    const again: StatusStep = { from: 'failed', to: 'queued', now, reason: TRIED_AGAIN }
    const running: StatusStep = { from: 'queued', to: 'pinning', now, reason: null }
    const begun = await this.#database.transaction(async sql => {
      if (await dropIfUnneeded(sql, this.#parts.holds, await lockFetch(sql, fetchId))) return undefined
      const fetch = await sql.first<FetchRow>(
        `UPDATE fetches SET attempts = attempts + 1, next_attempt_at = NULL, running = TRUE WHERE id = $1
         RETURNING ${FETCH_COLUMNS}`,
        [fetchId],
      )
      const changes = [...(await changeSome(sql, fetchId, again)), ...(await changeSome(sql, fetchId, running))]
      return fetch && { fetch, changes }
    })
    if (begun === undefined) await this.#parts.holds.letGo()
    else for (const step of [again, running]) await this.#changeAll(fetchId, step, begun.changes)
    return begun
  }

  async fail(fetchId: number, failure: FetchFailure, now: number): Promise<StatusChange[]> {
    const { reason, retryAt, blocks, bytes, charge } = failure
    const steps: StatusStep[] = [
      { from: 'queued', to: 'failed', now, reason },
      { from: 'pinning', to: 'failed', now, reason },
    ]
    const changes = await this.#database.transaction(async sql => {
      if (await dropIfUnneeded(sql, this.#parts.holds, await lockFetch(sql, fetchId))) return null
      await sql.run(
        `UPDATE fetches SET last_error = $2, next_attempt_at = $3, running = FALSE, blocks = $4, bytes = $5, charge = $6
         WHERE id = $1`,
        [fetchId, reason.text, retryAt, blocks, bytes, charge],
      )
      const changed: StatusChange[] = []
      for (const step of steps) changed.push(...(await changeSome(sql, fetchId, step)))
      return changed
    })
    if (changes === null) await this.#parts.holds.letGo()
    else for (const step of steps) await this.#changeAll(fetchId, step, changes)
    return changes ?? []
  }

  async refuse(recordIds: readonly string[], reason: StatusReason, now: number): Promise<StatusChange[]> {
    const changes: StatusChange[] = []
    for (let from = 0; from < recordIds.length; from += STEP) {
      const ids = recordIds.slice(from, from + STEP)
      const some = await this.#database.transaction(async sql => {
        const changed: StatusChange[] = []
        for (const { id, status, fetchId } of await lockRecords(sql, ids)) {
          if (fetchId === null) continue
          checkTransition(status, 'failed')
          await setFetch(sql, id, null)
          changed.push({ record: await setStatus(sql, id, { status: 'failed', at: now, reason }), from: status })
        }
        return changed
      })
      for (const change of some) changes.push(change)
    }
    return changes
  }

  async complete(fetchId: number, dag: WholeDag): Promise<void> {
    const fetch = await this.#sql.first<FetchRow & { holdId: string }>(
      `SELECT ${FETCH_COLUMNS}, hold_id AS "holdId" FROM fetches WHERE id = $1`,
      [fetchId],
    )
    if (fetch === undefined || fetch.isWhole) return
    const { backendId, rootId, holdId } = fetch
    // The hold moves from what was staged to what is complete.
    const wanted = { id: holdId, backendId, stagedRootId: rootId, dag, ends: null }
    const [ledgerRootId] = (await this.#parts.ledger.place([wanted])) ?? []
    const root = await this.#database.transaction(async sql => {
      const held = `SELECT 1 FROM holds WHERE id = $1 AND state = 'used' FOR UPDATE`
      if ((await sql.first(held, [holdId])) === undefined) return null
      const put = await putRoot(sql, this.#parts.holds.backend(backendId), dag)
      await sql.run('UPDATE holds SET root_id = $2 WHERE id = $1', [holdId, put.id])
      return put
    })
    // Nobody waits any more, and the ledger had let go of it before.
    if (root === null) await this.#parts.ledger.release([holdId])
    if (root === null || ledgerRootId === undefined) return
    if (dag.fileCount > 0 && !root.listed) await this.#parts.holds.list(root.id, ledgerRootId)
    await this.#database.command('UPDATE fetches SET whole = TRUE, root_id = $2 WHERE id = $1', [fetchId, ledgerRootId])
  }

  async deliver(fetchId: number, limits: ReadonlyMap<string, PinLimits>, now: number): Promise<Delivery> {
    return deliverSome(this.#parts, fetchId, limits, now)
  }

  async dropOrRepeat(fetchId: number, now: number): Promise<void> {
    const isGone = await this.#database.transaction(async sql => {
      if (await dropIfUnneeded(sql, this.#parts.holds, await lockFetch(sql, fetchId))) return true
      await schedule(sql, fetchId, now)
      return false
    })
    if (isGone) await this.#parts.holds.letGo()
  }

  async dropIfUnneeded(fetchId: number): Promise<boolean> {
    const { holds } = this.#parts
    const isGone = await this.#database.transaction(async sql => {
      const fetch = await lockFetch(sql, fetchId)
      if (await leaveToOther(sql, holds, fetch)) return false
      return dropIfUnneeded(sql, holds, fetch)
    })
    if (isGone) await holds.letGo()
    return isGone
  }

  async resume(now: number): Promise<StatusChange[]> {
    const changes: StatusChange[] = []
    for (;;) {
      const interrupted = await this.#sql.all<{ id: number }>(
        'SELECT id FROM fetches WHERE node = $1 AND running ORDER BY id LIMIT $2',
        [this.#parts.holds.node, STEP],
      )
      if (interrupted.length === 0) return changes
      for (const { id } of interrupted) {
        await this.#changeAll(id, { from: 'pinning', to: 'queued', now, reason: RESTARTED }, changes)
        await this.#database.transaction(sql => schedule(sql, id, now))
      }
    }
  }

  get(fetchId: number): Promise<FetchRow | undefined> {
    return this.#sql.first<FetchRow>(`SELECT ${FETCH_COLUMNS} FROM fetches WHERE id = $1`, [fetchId])
  }

  find(backendId: number, dag: DagIdentity): Promise<FetchRow | undefined> {
    const text = `SELECT ${FETCH_COLUMNS} FROM fetches WHERE multihash = $1 AND codec = $2 AND backend_id = $3`
    return this.#sql.first<FetchRow>(text, [dag.multihash, dag.codec, this.#parts.holds.backend(backendId)])
  }

  isWanted(fetchId: number): Promise<boolean> {
    return isWanted(this.#sql, fetchId)
  }

  async waitingAccounts(fetchId: number): Promise<string[]> {
    const text = 'SELECT DISTINCT account_id AS "accountId" FROM records WHERE fetch_id = $1'
    return (await this.#sql.all<{ accountId: string }>(text, [fetchId])).map(({ accountId }) => accountId)
  }

  async waitersOf(fetchId: number, accountId: string): Promise<string[]> {
    const text = 'SELECT id FROM records WHERE account_id = $1 AND fetch_id = $2'
    return (await this.#sql.all<{ id: string }>(text, [accountId, fetchId])).map(({ id }) => id)
  }

  heldFor(accountId: string): Promise<Array<{ id: number; charge: number }>> {
    return this.#sql.all<{ id: number; charge: number }>(
      `SELECT id, charge FROM fetches WHERE id = ANY(ARRAY(
         SELECT DISTINCT fetch_id FROM records WHERE account_id = $1 AND fetch_id IS NOT NULL))`,
      [accountId],
    )
  }

  /** Of this node. */
  async due(query: { now: number; after: string; accounts: number; each: number }): Promise<{
    fetches: FetchRow[]
    last: string | null
  }> {
    const { node } = this.#parts.holds
    const next = `SELECT account_id AS "accountId" FROM fetches
         WHERE node = $1 AND next_attempt_at IS NOT NULL AND account_id > $2 ORDER BY account_id LIMIT 1`
    const due = `SELECT ${FETCH_COLUMNS} FROM fetches
         WHERE node = $1 AND account_id = $2 AND next_attempt_at IS NOT NULL AND next_attempt_at <= $3
         ORDER BY next_attempt_at LIMIT $4`
    const { jobs: fetches, last } = await dueByAccount(
      query,
      after => this.#sql.first<{ accountId: string }>(next, [node, after]),
      account => this.#sql.all<FetchRow>(due, [node, account, query.now, query.each]),
    )
    return { fetches, last }
  }

  /** Of this node. */
  async nextDue(): Promise<number | null> {
    const text = `SELECT next_attempt_at AS at FROM fetches WHERE node = $1 AND next_attempt_at IS NOT NULL
      ORDER BY next_attempt_at LIMIT 1`
    return (await this.#sql.first<{ at: number }>(text, [this.#parts.holds.node]))?.at ?? null
  }

  async #request(
    sql: Sql,
    request: FetchRequest,
    staged: StagedRoot | null,
  ): Promise<RequestedPin & { usesStaged: boolean }> {
    const { record, backendId, origins, limits, now, isAnew = false } = request
    const change = await ContentChange.begin(sql, this.#parts, [record.accountId])
    const existing = isAnew ? undefined : await identicalRecord(sql, record, now)
    if (existing !== undefined && existing.status !== 'failed') {
      return { record: existing, created: false, fetchId: existing.fetchId, changes: [], usesStaged: false }
    }
    if (existing === undefined) await change.checkPinCount(record.accountId, limits, now)
    await change.checkQueued(record.accountId, limits)
    const fetch = await fetchFor(sql, this.#parts.holds, { backendId, record, origins, now, staged })
    const changes: StatusChange[] = []
    if (existing !== undefined) {
      await setFetch(sql, existing.id, fetch.id)
      checkTransition(existing.status, 'queued')
      const queued = await setStatus(sql, existing.id, { status: 'queued', at: now, reason: null })
      changes.push({ record: queued, from: existing.status })
    } else {
      await change.insert({ ...record, rootId: null, dagSize: 0, charge: 0, fetchId: fetch.id }, null)
    }
    const made = (await getRecord(sql, existing?.id ?? record.id)) ?? { ...record, ...NOTHING, fetchId: fetch.id }
    if (fetch.isRunning) {
      checkTransition(made.status, 'pinning')
      const pinning = await setStatus(sql, made.id, { status: 'pinning', at: now, reason: null })
      changes.push({ record: pinning, from: made.status })
    }
    await change.accounts.write()
    const { id: fetchId, usesStaged } = fetch
    return { record: made, created: existing === undefined, fetchId, changes, usesStaged }
  }

  /** However many records wait, no transaction is long. What has changed is added to `changes`. */
  async #changeAll(fetchId: number, step: StatusStep, changes: StatusChange[]): Promise<void> {
    const waiting = 'SELECT 1 FROM records WHERE fetch_id = $1 AND status = $2 LIMIT 1'
    while ((await this.#sql.first(waiting, [fetchId, step.from])) !== undefined) {
      const some = await this.#database.transaction(sql => changeSome(sql, fetchId, step))
      for (const change of some) changes.push(change)
    }
  }
}

const NOTHING = { rootId: null, dagSize: 0, charge: 0 }

/** Ends an attempt and asks for one more. */
async function schedule(sql: Sql, fetchId: number, now: number): Promise<void> {
  await sql.run('UPDATE fetches SET next_attempt_at = $2, running = FALSE WHERE id = $1', [fetchId, now])
}
