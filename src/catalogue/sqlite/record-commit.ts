import { HoldfastError } from '../../domain/errors.ts'
import { checkTransition } from '../../domain/pin-status.ts'
import type { DagIdentity } from '../../ipld/cid.ts'
import type { Claims, StoredRoot } from '../../ledger/claims.ts'
import type { Holds } from '../../ledger/holds.ts'
import type { RootTable } from '../../ledger/root-table.ts'
import type { WholeDag } from '../../ledger/whole-dag.ts'
import type { CommitIntent, Committed, PinLimits, RecordRow } from '../records.ts'
import { wantPlacement } from '../rules/placement-rules.ts'
import { type ChargedDag, checkUsage, decideCommit, type LimitedUsage } from '../rules/plan-limits.ts'
import type { FetchTable } from './fetch-table.ts'
import type { RecordTable } from './record-table.ts'
import type { SqliteStatements } from './sqlite-driver.ts'

type WholeIntent = CommitIntent & { kind: 'whole' }

interface CommitTables {
  records: RecordTable
  fetches: FetchTable
  roots: RootTable
  holds: Holds
  claims: Claims
  statements: SqliteStatements
}

/**
 * Changes records together with their content. The hold of a record has the id of the record.
 * The caller runs each method in a transaction.
 */
export class RecordCommit {
  readonly #tables: CommitTables
  readonly #external: ReadonlySet<number>

  /** @param external the numbers of the external backends, which need placements */
  constructor(tables: CommitTables, external: ReadonlySet<number>) {
    this.#tables = tables
    this.#external = external
  }

  commit(intent: CommitIntent): Committed {
    return intent.kind === 'whole' ? this.#commitWhole(intent) : this.#commitPart(intent)
  }

  /**
   * Returns what an account would have with a new record. A DAG that it has already pinned adds no bytes.
   *
   * @param dag null for a record that waits for its content
   */
  usageWith(accountId: string, dag: ChargedDag | null, limits: PinLimits, now: number): LimitedUsage {
    const { records } = this.#tables
    const charged = limits.maxStorageBytes === null || dag === null || records.has(accountId, dag) ? null : dag
    if (charged === null && limits.maxPins === null) return { pins: null, storedBytes: null }
    const { pins, storedBytes } = records.usage(accountId, now)
    return { pins: pins + 1, storedBytes: charged && storedBytes + charged.charge }
  }

  /** Assigns content to a waiting record. The record stays `pinning` until its backend has the content. */
  fulfil(record: RecordRow, rootId: number, now: number): void {
    const root = this.#tables.roots.get(rootId)
    if (root === undefined) throw new HoldfastError('INTERNAL_ERROR', `root ${rootId} no longer exists`)
    const status = this.#statusIn(root.backendId, record, now)
    const from = record.status === 'failed' ? 'queued' : record.status
    if (from !== status) checkTransition(from, status)
    this.#tables.records.setFetch(record.id, null)
    this.#tables.records.setContent(record, root)
    this.#tables.records.setStatus(record.id, status, now, null)
    this.#tables.holds.hold(record.id, rootId, record.expiresAt)
  }

  #commitWhole(intent: WholeIntent): Committed {
    const { record, dag, limits, now, stagedRootId, backendId, block = null, isAnew = false } = intent
    const known = isAnew ? undefined : this.#tables.records.identical(record, now)
    const usage = this.usageWith(record.accountId, dag, limits, now)
    const { does, existing } = decideCommit(known, usage, limits)
    if (does === 'repeat') {
      if (stagedRootId !== null) this.#tables.roots.abandon(stagedRootId)
      const healed = block !== null && this.#tables.claims.mend(backendId, block)
      return { record: existing, created: false, waited: null, healed }
    }
    const stored =
      block === null
        ? this.#complete(backendId, stagedRootId, dag)
        : this.#tables.claims.storeRoot(this.#tables.roots, backendId, dag, block, now)
    const { rootId, healed, dagSize, charge } = stored
    if (does === 'fulfil')
      return { record: this.#fulfilled(existing, rootId, now), created: false, waited: existing, healed }
    const made = { ...record, status: this.#statusIn(backendId, record, now), rootId, dagSize, charge, fetchId: null }
    this.#tables.records.insert(made)
    this.#tables.holds.place(record.id, rootId, record.expiresAt)
    return { record: made, created: true, waited: null, healed }
  }

  /** Completes a staged root. Returns the existing complete root if the DAG already has one. */
  #complete(backendId: number, stagedRootId: number | null, dag: WholeDag): StoredRoot {
    const root = this.#tables.holds.complete(backendId, stagedRootId, dag)
    if (root === null) throw new HoldfastError('CID_NOT_FOUND', 'this node no longer has the content')
    const { id: rootId, dagSize, charge } = root
    return { rootId, healed: false, dagSize, charge }
  }

  #fulfilled(record: RecordRow, rootId: number, now: number): RecordRow {
    this.fulfil(record, rootId, now)
    const made = this.#tables.records.get(record.id)
    if (made === undefined) throw new HoldfastError('INTERNAL_ERROR', 'the record no longer exists')
    return made
  }

  /** Returns the status of a record with content. Also marks the content as wanted on an external backend. */
  #statusIn(backendId: number, record: DagIdentity & { accountId: string }, now: number): 'pinned' | 'pinning' {
    if (!this.#external.has(backendId)) return 'pinned'
    return this.#tables.statements.carryOut(wantPlacement(backendId, record, now)) ? 'pinned' : 'pinning'
  }

  #commitPart(intent: CommitIntent & { kind: 'partial' }): Committed {
    const { record, stagedRootId, limits, now } = intent
    const known = (): HoldfastError => new HoldfastError('CONFLICT', `this pin of ${record.cid} exists already`)
    if (this.#tables.records.identical(record, now) !== undefined) throw known()
    checkUsage(this.usageWith(record.accountId, null, limits, now), limits)
    const fetchId = this.#tables.fetches.insert(intent, stagedRootId)
    if (fetchId === null) throw known()
    const row = { ...record, rootId: null, dagSize: 0, charge: 0, fetchId }
    this.#tables.records.insert(row)
    return { record: row, created: true, waited: null }
  }
}
