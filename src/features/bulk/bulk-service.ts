import type { AccountService } from '../../access/accounts/account-service.ts'
import type { PlanCatalogue } from '../../access/plan-catalogue.ts'
import type {
  BulkAction,
  BulkChange,
  BulkChanges,
  BulkFailure,
  BulkPhase,
  UndoEnd,
} from '../../catalogue/bulk-changes.ts'
import type { Page, PageRequest } from '../../catalogue/page.ts'
import type { RecordFilter, Records } from '../../catalogue/records.ts'
import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import type { Clock } from '../../domain/clock.ts'
import { instantOf } from '../../domain/date-time.ts'
import { HoldfastError, invalid } from '../../domain/errors.ts'
import type { Plan } from '../../domain/plan.ts'
import { recordFilterOf } from '../../pins/lists/list-search.ts'
import type { ListQuery } from '../../pins/pin-types.ts'
import { newUploadId } from '../../pins/present-record.ts'
import { storedSelection } from './bulk-selection.ts'
import type { BulkEdits, EditRequest } from './edit-checks.ts'

/** Filters of a list. Records created at `createdBefore` or later are not selected. */
export type BulkFilter = Omit<ListQuery, 'account' | 'page' | 'limit' | 'parentCid' | 'sort' | 'before'> & {
  createdBefore: Date | string
  /** Number of records that the caller expects to select. */
  expected: number
}

/** A change of many records. Exactly one of `ids` and `filter` is set. */
export interface BulkRequest extends EditRequest {
  ids?: readonly string[] | undefined
  filter?: BulkFilter | undefined
}

/** A job that changes many records. Times are milliseconds since the epoch. */
export interface BulkJob {
  id: string
  action: BulkAction
  state: BulkPhase
  total: number
  done: number
  failed: number
  restored: number
  failures: readonly BulkFailure[]
  createdAt: number
  endedAt: number | null
  /** End of the undo period. Null while the job runs, and for a job that cannot be undone. */
  undoUntil: number | null
  /** Why the undo period ended early: too many kept bytes, a full disk, or the owner. Null if it did not. */
  undoEnded: UndoEnd | null
}

export interface BulkServiceParts {
  bulk: BulkChanges
  records: Records
  accounts: Pick<AccountService, 'get'>
  plans: Pick<PlanCatalogue, 'get'>
  clock: Clock
  undoMs: number
  edits: BulkEdits
  wake: () => void
}

const ACTIONS: readonly BulkAction[] = ['delete', 'rename', 'timelock', 'cluster', 'visibility']
/** Maximum number of ids in a request. */
export const MOST_IDS = 1_000
const COUNTED_AT_ONCE = 500

/** Creates, shows and undoes jobs that change many records. */
export class BulkService {
  readonly #parts: BulkServiceParts

  constructor(parts: BulkServiceParts) {
    this.#parts = parts
  }

  /**
   * @throws HoldfastError `VALIDATION`; `CONFLICT` if the filter selects another number of records than expected;
   *   `QUOTA_EXCEEDED` if the account has too many jobs; `INVALID_TIMELOCK`, `TIMELOCK_NOT_ALLOWED`,
   *   `CLUSTER_NOT_ALLOWED`
   */
  async start(request: BulkRequest): Promise<BulkJob> {
    const { account: accountId, action, ids, filter } = request
    const { bulk, clock, edits, wake } = this.#parts
    if (!ACTIONS.includes(action)) throw invalid(`action must be one of ${ACTIONS.join(', ')}`)
    if ((ids === undefined) === (filter === undefined)) throw invalid('exactly one of ids and filter must be given')
    const edit = action === 'delete' ? null : await edits.of(request)
    const { selection, total } = filter === undefined ? selectedIds(ids ?? []) : await this.#selected(accountId, filter)
    const now = clock.now()
    const undoMs = edit === null ? this.#parts.undoMs : 0
    const stored = storedSelection({ of: selection, edit })
    const change = { name: newUploadId(now), accountId, action, selection: stored, total, undoMs }
    const made = await bulk.add({ ...change, createdAt: now })
    wake()
    return presentJob(made)
  }

  /** @throws HoldfastError `NOT_FOUND` */
  async get(accountId: string, id: string): Promise<BulkJob> {
    const found = await this.#parts.bulk.get(accountId, id)
    if (found === undefined) throw new HoldfastError('NOT_FOUND', 'no job has this id: see the list of jobs')
    return presentJob(found)
  }

  /** Returns the jobs that run or that ended within an hour, newest first. */
  async list(accountId: string): Promise<BulkJob[]> {
    return (await this.#parts.bulk.list(accountId)).map(presentJob)
  }

  /** Returns the jobs of all accounts, newest first. */
  async recent(request: PageRequest): Promise<Page<BulkJob & { accountId: string }>> {
    const { rows, next } = await this.#parts.bulk.recent(request)
    return { rows: rows.map(change => ({ ...presentJob(change), accountId: change.accountId })), next }
  }

  /** @throws HoldfastError `NOT_FOUND`, `CONFLICT`, `QUOTA_EXCEEDED` */
  async undo(accountId: string, id: string): Promise<BulkJob> {
    const { bulk, clock, wake } = this.#parts
    const limits = await this.#planOf(accountId)
    const change = await bulk.undo({ accountId, name: id, limits, now: clock.now() })
    wake()
    return presentJob(change)
  }

  async #planOf(accountId: string): Promise<Plan> {
    const { accounts, plans } = this.#parts
    return plans.get((await accounts.get(accountId)).plan)
  }

  async #selected(accountId: string, filter: BulkFilter): Promise<{ selection: ListQuery; total: number }> {
    const { createdBefore, expected, ...query } = filter
    if (!Number.isInteger(expected)) throw invalid('filter.expected must be the number of records to select')
    const before = instantOf(createdBefore)
    if (before === null)
      throw invalid('filter.createdBefore must be an RFC 3339 date-time such as 2030-01-31T12:00:00Z')
    const selection: ListQuery = { ...query, before: new Date(before).toISOString() }
    const total = await this.#count(recordFilterOf(accountId, selection, this.#parts.clock.now()))
    if (total === expected) return { selection, total }
    throw new HoldfastError('CONFLICT', `the filter selects ${total} records, not ${expected}`, {
      details: { selected: total },
    })
  }

  async #count(filter: RecordFilter): Promise<number> {
    const { records } = this.#parts
    const { total, totalIsLowerBound } = await records.page(filter, 0, 1)
    if (totalIsLowerBound !== true) return total
    let count = 0
    let after: string | null = null
    do {
      const page: Awaited<ReturnType<Records['walk']>> = await records.walk(filter, { after, limit: COUNTED_AT_ONCE })
      count += page.rows.length
      after = page.next
      if (turnSpent()) await nextTurn()
    } while (after !== null)
    return count
  }
}

function selectedIds(ids: readonly string[]): { selection: string[]; total: number } {
  const selection = [...new Set(Array.isArray(ids) ? ids : [])]
  if (selection.every(id => typeof id === 'string') && selection.length > 0 && selection.length <= MOST_IDS)
    return { selection, total: selection.length }
  throw invalid(`ids must have 1 to ${MOST_IDS} ids`)
}

function presentJob(change: BulkChange): BulkJob {
  const { name: id, action, phase: state, total, done, failed, restored, createdAt, endedAt } = change
  const { undoMs, undoEnded } = change
  const failures = JSON.parse(change.failures) as BulkFailure[]
  const undoUntil = state === 'done' && undoMs > 0 && endedAt !== null ? endedAt + undoMs : null
  return { id, action, state, total, done, failed, restored, failures, createdAt, endedAt, undoUntil, undoEnded }
}
