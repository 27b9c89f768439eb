import { HoldfastError } from '../../domain/errors.ts'
import { checkTransition } from '../../domain/pin-status.ts'
import { cidOf } from '../../ipld/cid.ts'
import type { BlockTable } from '../../ledger/block-table.ts'
import type { HoldPlace, Holds } from '../../ledger/holds.ts'
import type { RootRow, RootTable } from '../../ledger/root-table.ts'
import type { Database, Statement } from '../../storage/database.ts'
import type { WriteQueue } from '../../storage/write-queue.ts'
import type { StatusChange } from '../fetches.ts'
import type { Reconciliation, RecordProblem } from '../reconciliation.ts'
import type { RecordRow } from '../records.ts'
import type { FetchTable } from './fetch-table.ts'
import type { RecordCommit } from './record-commit.ts'
import type { RecordTable } from './record-table.ts'

/** Records that one transaction has wait. */
const STEP = 50
const RECORD_ID = /^[0-9a-z]{9}[\w-]{12}$/
const FETCH_HOLD = /^fetch (\d+)$/

interface Tables {
  records: RecordTable
  fetches: FetchTable
  roots: RootTable
  holds: Holds
  blocks: BlockTable
}

interface RecordStep {
  after: string
  limit: number
  homes: ReadonlyMap<string, number>
  now: number
  mend: boolean
}

/** The engine's own database, in which records and holds are seen together. */
export class SqliteReconciliation implements Reconciliation {
  readonly #tables: Tables
  readonly #commit: RecordCommit
  readonly #queue: WriteQueue

  readonly #accounts: Statement<[string, number], { id: string }>

  constructor(db: Database, tables: Tables, commit: RecordCommit, queue: WriteQueue) {
    this.#accounts = db.prepare('SELECT id FROM accounts WHERE id > ? ORDER BY id LIMIT ?')
    this.#tables = tables
    this.#commit = commit
    this.#queue = queue
  }

  holds({ after, limit, mend }: { after: string; limit: number; mend: boolean }) {
    const { holds } = this.#tables
    const work = () => {
      const found = holds.after(after, limit)
      const unwanted = found.map(({ id }) => id).filter(id => this.#isUnwanted(id))
      if (mend) for (const id of unwanted) holds.release(id)
      return { unwanted, seen: found.length, last: found.at(-1)?.id ?? null }
    }
    return this.#queue.run(work, { durable: mend })
  }

  roots({ after, limit, mend }: { after: number; limit: number; mend: boolean }) {
    const { roots, holds } = this.#tables
    const work = () => {
      const found = roots.completeAfter(after, limit)
      const unwanted = found.filter(({ id }) => !holds.isHeld(id))
      if (mend) for (const { id } of unwanted) roots.drop(id)
      return {
        unwanted: unwanted.map(dag => cidOf(dag).toString()),
        seen: found.length,
        last: found.at(-1)?.id ?? null,
      }
    }
    return this.#queue.run(work, { durable: mend })
  }

  records(step: RecordStep) {
    const { records } = this.#tables
    const work = () => {
      const found = records.after(step.after, step.limit)
      const changes: StatusChange[] = []
      const findings = found.flatMap(record => {
        const home = step.homes.get(record.clusterId)
        const kind = home === undefined ? null : this.#problemOf(record, home)
        if (home === undefined || kind === null) return []
        if (step.mend) changes.push(...this.#mend(record, kind, home, step.now))
        return [{ kind, record: record.id, cid: record.cid }]
      })
      return { findings, changes, seen: found.length, last: found.at(-1)?.id ?? null }
    }
    return this.#queue.run(work, { durable: step.mend })
  }

  async accounts({ after, limit }: { after: string; limit: number }): Promise<string[]> {
    return this.#accounts.all(after, limit).map(({ id }) => id)
  }

  recount({ accountId, limit, mend }: { accountId: string; limit: number; mend: boolean }) {
    return this.#queue.run(() => this.#tables.records.recount(accountId, { limit, mend }), { durable: false })
  }

  async fetches({ after, limit }: { after: number; limit: number }) {
    const { fetches } = this.#tables
    const found = fetches.after(after, limit)
    return { unwanted: found.filter(id => !fetches.isWanted(id)), seen: found.length, last: found.at(-1) ?? null }
  }

  async requeue(root: Parameters<Reconciliation['requeue']>[0]): Promise<StatusChange[]> {
    const { backendId, dag, homes, reason, now } = root
    const { holds, records, roots } = this.#tables
    const changes: StatusChange[] = []
    const rootId = roots.find(backendId, dag)?.id
    if (rootId === undefined) return changes
    for (let place: HoldPlace | undefined = { ends: -1, id: '' }; place !== undefined; ) {
      const from: HoldPlace = place
      const step = (): { last: HoldPlace | undefined; some: StatusChange[] } => {
        const held = holds.ofRoot(rootId, from, STEP)
        const some = held.flatMap(({ id }) => {
          const record = records.get(id)
          const hasContent = record !== undefined && record.rootId !== null
          if (!hasContent || !homes.has(record.clusterId)) return []
          return [this.#wait(record, backendId, reason, now)]
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
    if (RECORD_ID.test(hold)) return this.#tables.records.get(hold) === undefined
    const fetchId = FETCH_HOLD.exec(hold)?.[1]
    return fetchId !== undefined && !this.#tables.fetches.has(Number(fetchId))
  }

  #problemOf(record: RecordRow, backendId: number): RecordProblem | null {
    const { holds, fetches, blocks } = this.#tables
    const root = this.#rootOf(record, backendId)
    const isHeld = root !== undefined && holds.rootOf(record.id) === root.id
    if (record.status === 'pinned') {
      if (root === undefined) return 'record-lost'
      return isHeld ? null : 'record-unheld'
    }
    // It waits for a backend elsewhere to have what is held here meanwhile.
    if (record.rootId !== null) return isHeld ? null : 'record-lost'
    if (isHeld && !blocks.isLostFrom(root.id)) return 'record-whole'
    const waits = record.status === 'queued' || record.status === 'pinning'
    const isFetched = record.fetchId !== null && fetches.has(record.fetchId)
    return waits && !isFetched ? 'record-unfetched' : null
  }

  /** The whole DAG of a record: where the record has it, or else on the backend of its cluster. */
  #rootOf(record: RecordRow, backendId: number): RootRow | undefined {
    const { roots } = this.#tables
    const own = record.rootId === null ? undefined : roots.get(record.rootId)
    const whole = own && roots.find(own.backendId, record)
    return whole?.id === record.rootId ? whole : roots.find(backendId, record)
  }

  #mend(record: RecordRow, kind: RecordProblem, backendId: number, now: number): StatusChange[] {
    const { holds } = this.#tables
    const root = this.#rootOf(record, backendId)
    if (kind === 'record-lost') {
      holds.release(record.id)
      return [this.#wait(record, backendId, 'its content was lost; it is fetched again', now)]
    }
    if (kind === 'record-unfetched') return [this.#wait(record, backendId, 'it is fetched again', now)]
    if (root === undefined) return []
    if (kind === 'record-unheld') {
      holds.hold(record.id, root.id, record.expiresAt)
      return []
    }
    this.#commit.fulfil(record, root.id, now)
    return [{ record: this.#reread(record.id), from: record.status }]
  }

  #wait(record: RecordRow, backendId: number, reason: string, now: number): StatusChange {
    if (record.status !== 'pinning' && record.status !== 'queued') checkTransition(record.status, 'pinning')
    const fetchId = this.#tables.fetches.fetchFor({ backendId, record, now })
    this.#tables.records.setWaiting(record, fetchId, now, reason)
    return { record: this.#reread(record.id), from: record.status }
  }

  #reread(id: string): RecordRow {
    const record = this.#tables.records.get(id)
    if (record === undefined) throw new HoldfastError('INTERNAL_ERROR', `record ${id} has gone`)
    return record
  }
}
