import type { CommitIntent, Committed, NewRecord, PinLimits, RecordRow } from '../../../src/catalogue/records.ts'
import { run } from '../../../src/catalogue/rules/driver.ts'
import { insertFetch } from '../../../src/catalogue/rules/fetch-rows.ts'
import { wantPlacement } from '../../../src/catalogue/rules/placement-rules.ts'
import {
  type ChargedDag,
  checkUsage,
  decideCommit,
  type LimitedUsage,
} from '../../../src/catalogue/rules/plan-limits.ts'
import { SET_WAITING } from '../../../src/catalogue/rules/record-statements.ts'
import { HoldfastError } from '../../../src/domain/errors.ts'
import { checkTransition, type StatusReason } from '../../../src/domain/pin-status.ts'
import type { CatalogueHolds } from '../../../src/ledger/catalogue-holds.ts'
import { LockedAccounts } from '../access/locked-accounts.ts'
import type { Postgres } from '../database/postgres.ts'
import { runRule } from '../database/postgres-driver.ts'
import type { Sql } from '../database/sql.ts'
import type { PlacedHold } from '../holds/begun-holds.ts'
import { fetchParts } from '../holds/fetch-parts.ts'
import { NeedsHold, type SharedHolds } from '../holds/shared-holds.ts'
import { KnownRecords } from '../lists/known-records.ts'
import { checkKept, hasDag, type InsertedRecord, insertRecords, rowIdentity, setStatus } from '../lists/record-rows.ts'
import type { LostPace } from '../nodes/lost-pace.ts'

export interface Prepared {
  /** Null if no hold was placed. `rootId` is null for a staged root, which has only part of the DAG. */
  hold: PlacedHold | { id: string; rootId: null; healed?: false } | null
}

/**
 * Changes records and holds in one transaction, which locks the rows of the affected accounts first. Inserted records,
 * their holds and the counters wait for {@link write}, which sends one statement for each table.
 */
export class ContentChange {
  readonly #parts: ContentParts
  readonly #sql: Sql
  readonly accounts: LockedAccounts
  readonly #known: KnownRecords
  #inserted: InsertedRecord[] = []

  private constructor(sql: Sql, parts: ContentParts, accounts: LockedAccounts, known: KnownRecords) {
    this.#sql = sql
    this.#parts = parts
    this.accounts = accounts
    this.#known = known
  }

  /**
   * Locks the accounts, and then reads as {@link read}, in one round trip.
   *
   * @param waits if false, leaves out accounts that another transaction has locked
   */
  static async begin(
    sql: Sql,
    parts: ContentParts,
    accountIds: readonly string[],
    { intents = [], waits = true }: { intents?: readonly CommitIntent[]; waits?: boolean } = {},
  ): Promise<ContentChange> {
    const known = new KnownRecords(sql, { node: parts.holds.node, ledger: parts.ledger })
    const [accounts] = await Promise.all([LockedAccounts.lock(sql, accountIds, waits), known.read(intents)])
    return new ContentChange(sql, parts, accounts, known)
  }

  /** Reads with one statement what the commits of the intents need to know. */
  async read(intents: readonly CommitIntent[]): Promise<void> {
    await this.#known.read(intents)
  }

  /** Returns whether the commit gives the content to a record that waits for it. Requires {@link read}. */
  fulfils(intent: CommitIntent): boolean {
    return this.#known.isAwaited(intent.record)
  }

  /**
   * Decides about an intent. If it throws for a whole DAG that fulfils no record, nothing of the intent is written.
   *
   * @throws NeedsHold if the commit needs a hold and none was placed
   */
  async commit(intent: CommitIntent, { hold }: Prepared): Promise<Committed> {
    return intent.kind === 'whole' ? this.#commitWhole(intent, hold) : this.#commitPart(intent, hold)
  }

  /**
   * Returns what an account would have with a new record. A DAG that it has already pinned adds no bytes.
   *
   * @param dag null for a record that waits for its content
   */
  async usageWith(
    accountId: string,
    dag: ChargedDag | null,
    { maxPins, maxStorageBytes }: PinLimits,
    now: number,
  ): Promise<LimitedUsage> {
    const { pins, storedBytes } = this.accounts.counted(accountId)
    const isFree = dag === null || maxStorageBytes === null || (await this.#known.hasDag(accountId, dag))
    // The counter includes expired records.
    const isNear = maxPins !== null && pins >= maxPins
    const live = isNear ? (await this.accounts.usage(accountId, now)).pins : pins
    return { pins: live + 1, storedBytes: isFree ? null : storedBytes + dag.charge }
  }

  /**
   * Adds a record to the ones that {@link write} inserts.
   *
   * @param holdId the hold that the record uses; null if it waits for its content
   * @param record the row, or the new record that it was made of
   */
  async insert(row: RecordRow, holdId: string | null, record: NewRecord = row): Promise<void> {
    const { accountId, rootId, expiresAt, charge } = row
    checkKept(row)
    const list = this.accounts.listOf(accountId)
    const adds = rootId !== null && !(await this.#known.hasDag(accountId, row))
    this.#inserted.push({ row, holdId, list, identity: rowIdentity(record) })
    this.#known.add(row, record)
    const storedBytes = adds ? charge : 0
    this.accounts.count(accountId, { pins: 1, expiringPins: expiresAt === null ? 0 : 1, storedBytes })
  }

  /**
   * Writes the inserted records, their holds and all counters, in one round trip. Call this method last in the
   * transaction.
   */
  async write(): Promise<void> {
    const inserted = this.#inserted.splice(0)
    const used = inserted.flatMap(({ holdId }) => holdId ?? [])
    const sql = this.#sql
    await Promise.all([this.#parts.holds.use(sql, used), insertRecords(sql, inserted), this.accounts.write()])
  }

  /**
   * Gives a waiting record the hold on its content. The record stays `pinning` while an external backend lacks the
   * content.
   */
  async fulfil(record: RecordRow, hold: PlacedHold, backendId: number, now: number): Promise<RecordRow> {
    const status = await this.#statusIn(backendId, record, now)
    const from = record.status === 'failed' ? 'queued' : record.status
    if (from !== status) checkTransition(from, status)
    await this.write()
    const adds = !(await hasDag(this.#sql, record.accountId, record))
    await this.#parts.holds.use(this.#sql, [hold.id])
    const former = await this.#sql.first<{ holdId: string | null }>(
      `UPDATE records SET fetch_id = NULL, lost_with = NULL, root_id = $2, size = $3, dag_size = $4, charge = $5, hold_id = $6
       FROM (SELECT id, hold_id FROM records WHERE id = $1) AS before WHERE records.id = before.id
       RETURNING before.hold_id AS "holdId"`,
      [record.id, hold.rootId, hold.contentSize, hold.dagSize, hold.charge, hold.id],
    )
    if (former === undefined) throw new HoldfastError('INTERNAL_ERROR', `record ${record.id} no longer exists`)
    await this.#parts.holds.void(this.#sql, former.holdId === null ? [] : [former.holdId])
    this.accounts.count(record.accountId, { pins: 0, expiringPins: 0, storedBytes: adds ? hold.charge : 0 })
    const fulfilled = await setStatus(this.#sql, record.id, { status, at: now, reason: null })
    this.#known.add(fulfilled)
    return fulfilled
  }

  /** Makes a record wait for a fetch, and subtracts the record's content from the account's usage. */
  async wait(record: RecordRow, fetchId: number, now: number, reason: string): Promise<RecordRow> {
    return this.#empty(record, fetchId, { status: 'pinning', at: now, reason: { code: null, text: reason } })
  }

  /** Makes a record fail whose content nobody has, and subtracts the content from the account's usage. */
  async lose(record: RecordRow, now: number, reason: StatusReason): Promise<RecordRow> {
    return this.#empty(record, null, { status: 'failed', at: now, reason })
  }

  async #empty(record: RecordRow, fetchId: number | null, to: Parameters<typeof setStatus>[2]): Promise<RecordRow> {
    await runRule(run(SET_WAITING, { id: record.id, fetchId }), this.#sql)
    if (record.rootId !== null) await this.#free(record)
    return setStatus(this.#sql, record.id, to)
  }

  async #free(record: RecordRow): Promise<void> {
    if (await hasDag(this.#sql, record.accountId, record)) return
    this.accounts.count(record.accountId, { pins: 0, expiringPins: 0, storedBytes: -record.charge })
  }

  async #commitWhole(intent: CommitIntent & { kind: 'whole' }, hold: Prepared['hold']): Promise<Committed> {
    const { record, dag, limits, now, backendId, isAnew = false } = intent
    const known = isAnew ? undefined : await this.#known.identical(record, now)
    const usage = await this.usageWith(record.accountId, dag, limits, now)
    const { does, existing } = decideCommit(known, usage, limits)
    if (does === 'repeat') return { record: existing, created: false, waited: null }
    if (hold === null || hold.rootId === null) throw new NeedsHold('the content has no hold')
    if (does === 'fulfil') {
      const fulfilled = await this.fulfil(existing, hold, backendId, now)
      return { record: fulfilled, created: false, waited: existing }
    }
    const { rootId, dagSize, charge } = hold
    const status = await this.#statusIn(backendId, record, now)
    const row = { ...record, status, rootId, dagSize, charge, fetchId: null }
    await this.insert(row, hold.id, record)
    return { record: row, created: true, waited: null }
  }

  async #commitPart(intent: CommitIntent & { kind: 'partial' }, hold: Prepared['hold']): Promise<Committed> {
    const { record, stagedRootId, limits, now } = intent
    if ((await this.#known.identical(record, now)) !== undefined) throw alreadyExists(record)
    if (hold === null) throw new NeedsHold('the staged root has no hold')
    checkUsage(await this.usageWith(record.accountId, null, limits, now), limits)
    await this.#parts.holds.use(this.#sql, [hold.id])
    const fetchId = await runRule(
      insertFetch(fetchParts(this.#parts.database, this.#parts.holds), intent, {
        rootId: stagedRootId,
        holdId: hold.id,
      }),
      this.#sql,
    )
    if (fetchId === null) throw alreadyExists(record)
    const row = { ...record, rootId: null, dagSize: 0, charge: 0, fetchId }
    await this.insert(row, null, record)
    return { record: row, created: true, waited: null }
  }

  async #statusIn(backendId: number, record: NewRecord, now: number): Promise<'pinned' | 'pinning'> {
    if (!this.#parts.external.has(backendId)) return 'pinned'
    const isPlaced = await runRule(wantPlacement(this.#parts.holds.backend(backendId), record, now), this.#sql)
    // The ledger may have an outdated mark from an earlier placement.
    await this.#parts.ledger.setPlaced(backendId, record, isPlaced ? now : null)
    return isPlaced ? 'pinned' : 'pinning'
  }
}

export interface ContentParts {
  database: Postgres
  ledger: CatalogueHolds
  holds: SharedHolds
  /** Numbers of the external backends. Each of their DAGs needs a placement. */
  external: ReadonlySet<number>
  pace: LostPace
}

function alreadyExists({ cid }: NewRecord): HoldfastError {
  return new HoldfastError('CONFLICT', `this pin of ${cid} exists already`)
}
