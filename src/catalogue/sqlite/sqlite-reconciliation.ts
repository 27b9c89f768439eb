import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { checkTransition } from '../../domain/pin-status.ts'
import type { BlockTable } from '../../ledger/block-table.ts'
import { CatalogueHolds } from '../../ledger/catalogue-holds.ts'
import type { Claims } from '../../ledger/claims.ts'
import type { HoldPlace, Holds } from '../../ledger/holds.ts'
import type { RootOwners } from '../../ledger/root-owners.ts'
import type { RootTable } from '../../ledger/root-table.ts'
import type { WriteQueue } from '../../storage/write-queue.ts'
import type { StatusChange } from '../fetches.ts'
import type { Reconciliation, RecordProblem } from '../reconciliation.ts'
import type { RecordRow } from '../records.ts'
import {
  isLocal,
  problemOf,
  type ReconciledLedger,
  type ReconciliationParts,
  type WrongRecord,
} from '../rules/reconciliation-rules.ts'
import type { FetchTable } from './fetch-table.ts'
import type { RecordCommit } from './record-commit.ts'
import type { RecordTable } from './record-table.ts'
import type { SqliteStatements } from './sqlite-driver.ts'

const STEP = 50
const RECORD_ID = /^[0-9a-z]{9}[\w-]{12}$/
const FETCH_HOLD = /^fetch (\d+)$/

interface Tables {
  statements: SqliteStatements
  records: RecordTable
  fetches: FetchTable
  roots: RootTable
  holds: Holds
  blocks: BlockTable
  claims: Claims
  owners: RootOwners
}

/** Reconciliation in the engine's own database, where the hold of a record has the id of the record. */
export class SqliteReconciliation implements ReconciliationParts {
  readonly ledger: ReconciledLedger
  readonly node = null
  readonly #tables: Tables
  readonly #commit: RecordCommit
  readonly #queue: WriteQueue

  constructor(tables: Tables, commit: RecordCommit, queue: WriteQueue) {
    this.ledger = new CatalogueHolds({ ...tables, queue })
    this.#tables = tables
    this.#commit = commit
    this.#queue = queue
  }

  async unwanted(holds: readonly string[]): Promise<string[]> {
    const unwanted: string[] = []
    for (const id of holds) {
      if (turnSpent()) await nextTurn()
      if (this.#isUnwanted(id)) unwanted.push(id)
    }
    return unwanted
  }

  async release(holds: readonly string[]): Promise<void> {
    const work = () => {
      for (const id of holds) if (this.#isUnwanted(id)) this.#tables.holds.release(id)
    }
    if (holds.length > 0) await this.#queue.run(work, { durable: true })
  }

  mend(wrong: readonly WrongRecord[], now: number): Promise<StatusChange[]> {
    const { records, statements } = this.#tables
    const work = () =>
      wrong.flatMap(({ record: { id }, kind, backendId }) => {
        const record = records.get(id)
        if (record === undefined) return []
        const problem = statements.carryOut(problemOf(this.ledger, { ...record, holdId: id }, backendId))
        return problem === kind ? this.#mend(record, kind, backendId, now) : []
      })
    return this.#queue.run(work, { durable: true })
  }

  recount({ accountId, limit, mend }: { accountId: string; limit: number; mend: boolean }) {
    return this.#queue.run(() => this.#tables.records.recount(accountId, { limit, mend }), { durable: false })
  }

  async requeue(root: Parameters<Reconciliation['requeue']>[0]): Promise<StatusChange[]> {
    const { backendId, dag, homes, reason, now } = root
    const { holds, records, roots } = this.#tables
    const changes: StatusChange[] = []
    const rootId = roots.find(backendId, dag, dag.owner)?.id
    if (rootId === undefined) return changes
    const isHere = isLocal(homes, backendId)
    for (let place: HoldPlace | undefined = { ends: -1, id: '' }; place !== undefined; ) {
      const from: HoldPlace = place
      const step = (): { last: HoldPlace | undefined; some: StatusChange[] } => {
        const held = holds.ofRoot(rootId, from, STEP)
        const some = held.flatMap(({ id }) => {
          const record = records.get(id)
          const hasContent = record !== undefined && record.rootId !== null
          if (!hasContent || !(isHere || homes.has(record.clusterId))) return []
          return [this.#wait(record, { backendId, owner: dag.owner }, reason, now)]
        })
        return { last: held.at(-1), some }
      }
      const { last, some } = await this.#queue.run(step, { durable: true })
      for (const change of some) changes.push(change)
      place = last
    }
    return changes
  }

  #isUnwanted(hold: string): boolean {
    if (RECORD_ID.test(hold)) return !this.#tables.records.isStored(hold)
    const fetchId = FETCH_HOLD.exec(hold)?.[1]
    return fetchId !== undefined && !this.#tables.fetches.has(Number(fetchId))
  }

  #mend(record: RecordRow, kind: RecordProblem, backendId: number, now: number): StatusChange[] {
    const { holds, roots } = this.#tables
    const place = { backendId, owner: record.owner }
    const root = roots.find(backendId, record, record.owner)
    if (kind === 'record-lost') {
      holds.release(record.id)
      return [this.#wait(record, place, 'the content was lost and is fetched again', now)]
    }
    if (kind === 'record-unfetched') return [this.#wait(record, place, 'the content is fetched again', now)]
    if (root === undefined) return []
    if (kind === 'record-unheld') {
      holds.hold(record.id, root.id, record.expiresAt)
      return []
    }
    this.#commit.fulfil(record, root.id, now)
    return [{ record: this.#reread(record.id), from: record.status }]
  }

  #wait(record: RecordRow, place: { backendId: number; owner: number }, reason: string, now: number): StatusChange {
    if (record.status !== 'pinning' && record.status !== 'queued') checkTransition(record.status, 'pinning')
    const fetchId = this.#tables.fetches.fetchFor({ ...place, record, now })
    this.#tables.records.setWaiting(record, fetchId, now, reason)
    return { record: this.#reread(record.id), from: record.status }
  }

  #reread(id: string): RecordRow {
    const record = this.#tables.records.get(id)
    if (record === undefined) throw new HoldfastError('INTERNAL_ERROR', `record ${id} no longer exists`)
    return record
  }
}
