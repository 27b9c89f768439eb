import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import type { DagIdentity } from '../../ipld/cid.ts'
import type { Database, Statement } from '../../storage/database.ts'
import type { WriteQueue } from '../../storage/write-queue.ts'
import type { Page, PageRequest } from '../page.ts'
import type {
  AccountUsage,
  CommitIntent,
  Committed,
  ListedRecord,
  RecordFilter,
  RecordRow,
  Records,
  RenameRequest,
} from '../records.ts'
import type { RecordCommit } from './record-commit.ts'
import type { RecordPages } from './record-pages.ts'
import { RecordSearches } from './record-searches.ts'
import type { RecordTable } from './record-table.ts'
import { type Removal, RemovalTable } from './removal-table.ts'
import type { SearchIndex } from './search-index.ts'

/** Records that one transaction removes. */
const STEP = 50

/** Records in the engine's own database: a record and the hold of its content are one commit. */
export class SqliteRecords implements Records {
  readonly takesBlocks = true
  readonly #table: RecordTable
  readonly #commit: RecordCommit
  readonly #removals: RemovalTable
  readonly #use: Statement<[string], unknown>
  readonly #hasToken: Statement<[string], unknown>
  readonly #pages: RecordPages
  readonly #search: RecordSearches
  readonly #searchIndex: SearchIndex
  readonly #queue: WriteQueue

  constructor(parts: {
    db: Database
    table: RecordTable
    commit: RecordCommit
    pages: RecordPages
    searchIndex: SearchIndex
    queue: WriteQueue
  }) {
    this.#table = parts.table
    this.#commit = parts.commit
    this.#removals = new RemovalTable(parts.db)
    this.#use = parts.db.prepare('UPDATE api_keys SET uses = uses + 1 WHERE id = ? AND uses < max_uses')
    this.#hasToken = parts.db.prepare('SELECT 1 FROM api_keys WHERE id = ? AND max_uses IS NOT NULL')
    this.#pages = parts.pages
    this.#search = new RecordSearches(parts.db, parts.table)
    this.#searchIndex = parts.searchIndex
    this.#queue = parts.queue
  }

  commit(intents: readonly CommitIntent[], token?: string): Promise<Committed[]> {
    const work = (): Committed[] => {
      if (token !== undefined) this.#takeUse(token)
      return intents.map(intent => this.#commit.commit(intent))
    }
    const committed = (made: Committed[]): void => {
      for (const { record, created } of made) if (created) this.#pages.added(record)
    }
    return this.#queue.run(work, { durable: true, committed })
  }

  async remove(request: {
    accountId: string
    dag: DagIdentity
    clusterId: string | null
    now: number
  }): Promise<RecordRow[]> {
    const removal = { ...request, createdBy: request.now }
    const begin = (): { rows: RecordRow[]; id: number | null } => {
      const rows = this.#step(removal)
      const isMore = rows.length === STEP && this.#table.ofDag({ ...request, limit: 1 }).length > 0
      return { rows, id: isMore ? this.#removals.insert(removal) : null }
    }
    const { rows, id } = await this.#removing(begin, begun => begun.rows)
    return id === null ? rows : [...rows, ...(await this.#rest({ ...removal, id }))]
  }

  async discard(id: string): Promise<boolean> {
    const work = (): RecordRow[] => {
      const record = this.#table.get(id)
      if (record !== undefined) this.#commit.remove(record)
      return record === undefined ? [] : [record]
    }
    return (await this.#removing(work, rows => rows)).length > 0
  }

  expire(now: number, limit: number): Promise<RecordRow[]> {
    const work = (): RecordRow[] => {
      const rows = this.#table.expired(now, Math.min(limit, STEP))
      for (const row of rows) this.#commit.remove(row)
      return rows
    }
    return this.#removing(work, rows => rows)
  }

  async finishRemovals(): Promise<void> {
    for (let next = this.#removals.first(); next !== null; next = this.#removals.first()) await this.#finish(next)
  }

  rename(request: RenameRequest): Promise<boolean> {
    return this.#queue.run(() => this.#table.rename(request), { durable: true })
  }

  async get(id: string): Promise<RecordRow | undefined> {
    return this.#table.get(id)
  }

  async ofDag(request: {
    accountId: string
    dag: DagIdentity
    clusterId: string | null
    now: number
    limit: number
  }): Promise<RecordRow[]> {
    return this.#table.ofDag(request)
  }

  async newestOf(request: {
    accountId: string
    dag: DagIdentity
    hasExpiration: boolean
    now: number
  }): Promise<RecordRow | undefined> {
    return this.#table.newestOf(request)
  }

  async usage(accountId: string, now: number): Promise<AccountUsage> {
    return this.#table.usage(accountId, now)
  }

  async page(filter: RecordFilter, offset: number, limit: number): Promise<{ rows: ListedRecord[]; total: number }> {
    const { search } = filter
    if (search === undefined) return this.#pages.page(filter, offset, limit)
    await this.#searchIndex.bringIn(filter.accountId)
    return this.#search.page({ ...filter, search }, offset, limit)
  }

  async walk(filter: RecordFilter, page: PageRequest): Promise<Page<ListedRecord>> {
    const { search } = filter
    if (search === undefined) return this.#pages.walk(filter, page)
    await this.#searchIndex.bringIn(filter.accountId)
    return this.#search.walk({ ...filter, search }, page)
  }

  async nextExpiry(): Promise<number | null> {
    return this.#table.nextExpiry()
  }

  #takeUse(token: string): void {
    if (this.#use.run(token).changes === 1) return
    if (this.#hasToken.get(token) === undefined) {
      throw new HoldfastError('INVALID_API_KEY', 'the upload token has been revoked')
    }
    throw new HoldfastError('QUOTA_EXCEEDED', 'the upload token has no use left')
  }

  /** Finishes a removal that this call has noted. A noted removal happens, so a refusal of its rest says nothing of it. */
  async #rest(removal: Removal & { id: number }): Promise<RecordRow[]> {
    try {
      return await this.#finish(removal)
    } catch (cause) {
      if (!isHoldfastError(cause, 'UNAVAILABLE')) throw cause
      throw new HoldfastError('OUTCOME_UNKNOWN', 'a part is removed, and the rest after a restart of the node', {
        cause,
      })
    }
  }

  /** The rest of a removal that is noted; it is forgotten with the last record. */
  async #finish(removal: Removal & { id: number }): Promise<RecordRow[]> {
    const removed: RecordRow[] = []
    const step = (): RecordRow[] => {
      const rows = this.#step(removal)
      if (rows.length < STEP) this.#removals.delete(removal.id)
      return rows
    }
    for (;;) {
      const rows = await this.#removing(step, found => found)
      for (const row of rows) removed.push(row)
      if (rows.length < STEP) return removed
    }
  }

  #step(removal: Removal): RecordRow[] {
    const rows = this.#table.ofDag({ ...removal, now: removal.createdBy, limit: STEP })
    for (const row of rows) this.#commit.remove(row)
    return rows
  }

  #removing<T>(work: () => T, removed: (result: T) => readonly RecordRow[]): Promise<T> {
    const committed = (result: T): void => {
      for (const row of removed(result)) this.#pages.removed(row)
    }
    return this.#queue.run(work, { durable: true, patient: true, committed })
  }
}
