import { either, IF_UNLOCKED, indexed } from './dialect.ts'
import { type CatalogueDriver, first, type Rule, run } from './driver.ts'
import { type Columns, type Fragment, fragment, type RuleStatement, sql } from './statement.ts'

/** What a job does; its key is the number of a row that has its state, in a table of the kind. */
export type JobName = 'fetch' | 'placement' | 'delivery'

/** Work that is to be done, and repeated until it succeeds. Times are milliseconds since the epoch. */
export interface NewJob {
  kind: JobName
  key: number
  /** Who works at it: a node, or whoever tells a backend. Empty for any node. */
  queue: string
  /** Whose turn it is. */
  accountId: string
  dueAt: number
  /** Why the last attempt has failed, if there was one. */
  error: string | null
}

type JobKey = Pick<NewJob, 'kind' | 'key'>

/** A node that leases a job: for longer than an attempt takes, after which the node counts as gone. */
export interface Lease {
  node: string
  leaseMs: number
}

/** A job, as tables of states join it. */
export const JOB = {
  attempts: 'COALESCE(job.attempts, state.attempts)',
  dueAt: 'job.due_at',
  lastError: 'COALESCE(job.last_error, state.last_error)',
} as const

const KEY = 'kind = :kind AND key = :key'
const DUE_OF_QUEUE = 'kind = :kind AND queue = :queue AND due_at IS NOT NULL'
const LEASE = either('', `, leased_by = :node, leased_until = clock_timestamp() + :leaseMs::float8 * INTERVAL '1 ms'`)
const END_LEASE = either('', ', leased_until = NULL')
/** Jobs that no other node is at; this node knows what it is at. */
const FREE = either('', 'AND (leased_until IS NULL OR leased_until < clock_timestamp() OR leased_by = :node)')

const ENQUEUE = sql`
  INSERT INTO jobs (kind, key, queue, account_id, due_at, last_error)
  VALUES (:kind, :key, :queue, :accountId, :dueAt, :error)
  ON CONFLICT (kind, key) DO UPDATE SET queue = excluded.queue, account_id = excluded.account_id,
    due_at = excluded.due_at, attempts = 0, last_error = excluded.last_error ${END_LEASE}`
const BEGIN = sql<{ attempts: number; dueAt: number }>`
  UPDATE jobs SET attempts = attempts + 1 ${LEASE} WHERE ${KEY}
    AND key = (SELECT key FROM jobs WHERE ${KEY} ${FREE} ${IF_UNLOCKED})
  RETURNING attempts, due_at AS "dueAt"`
const BEGIN_ALONE = sql<{ attempts: number; dueAt: null }>`
  UPDATE jobs SET attempts = attempts + 1, due_at = NULL WHERE ${KEY} RETURNING attempts, due_at AS "dueAt"`
const RETRY = sql`UPDATE jobs SET due_at = :at, last_error = :error ${END_LEASE} WHERE ${KEY}`
const WAKE = sql`UPDATE jobs SET due_at = :at ${END_LEASE} WHERE ${KEY}`
const END = sql`DELETE FROM jobs WHERE ${KEY}`
const ACCOUNT_AFTER = fragment`
  SELECT account_id AS "accountId" FROM jobs ${indexed('jobs_by_account')}
  WHERE ${DUE_OF_QUEUE} AND account_id > :after ORDER BY account_id LIMIT 1`
const NEXT_ACCOUNT = sql<{ accountId: string }>`${ACCOUNT_AFTER}`
const NEXT_DUE = sql<{ at: number }>`
  SELECT due_at AS at FROM jobs ${indexed('jobs_by_time')} WHERE ${DUE_OF_QUEUE} ${FREE} ORDER BY due_at LIMIT 1`

/** The states of jobs of a kind, with their jobs where they have one. */
export function withJob(table: string, kind: JobName): Fragment {
  return fragment`${table} state LEFT JOIN jobs job ON job.kind = '${kind}' AND job.key = state.id`
}

/** A statement that reads the states of jobs of the next account that are due, the longest waiting first. */
export function dueStates<Row>(state: Columns<Row>, table: string): RuleStatement<Row> {
  return sql<Row>`
    SELECT ${state} FROM jobs job ${indexed('jobs_by_account')} JOIN ${table} state ON state.id = job.key
    WHERE ${DUE_OF_QUEUE} AND job.account_id = (${ACCOUNT_AFTER}) AND due_at <= :now ${FREE}
    ORDER BY due_at, key LIMIT :each`
}

/** Puts a job in line, as if it had never been attempted; also one that waits, for another node, or is given up. */
export function* enqueue(job: NewJob): Rule<void> {
  yield* run(ENQUEUE, job)
}

/** Counts an attempt, and leases the job. Null if there is none, or another node is at it. */
export function beginJob(key: JobKey, lease: Lease): Rule<{ attempts: number; dueAt: number } | null> {
  return first(BEGIN, { ...key, ...lease })
}

/** Counts an attempt of the only node that works at the job, which is not due until that has ended. */
export function beginAlone(key: JobKey): Rule<{ attempts: number; dueAt: null } | null> {
  return first(BEGIN_ALONE, key)
}

/** Repeats a job whose attempt has failed. */
export function* retryJob(key: JobKey, at: number, error: string | null): Rule<void> {
  yield* run(RETRY, { ...key, at, error })
}

/** Repeats a job, whatever its last attempt said. Returns whether there is one. */
export function* wakeJob(key: JobKey, at: number): Rule<boolean> {
  return (yield* run(WAKE, { ...key, at })) > 0
}

/** Ends a job that has succeeded, or that nobody needs any more. */
export function* endJob(key: JobKey): Rule<void> {
  yield* run(END, key)
}

/** Jobs that are due: see `JobKind.due`. */
export interface DueQuery {
  now: number
  after: string
  accounts: number
  each: number
}

/** Reads which jobs of a kind are due. @param states made by {@link dueStates} */
export function dueJobs<Row extends { accountId: string }>(
  driver: CatalogueDriver,
  kind: JobName,
  node: string,
  states: RuleStatement<Row>,
) {
  return {
    due: async (
      queue: string,
      { now, after, accounts, each }: DueQuery,
    ): Promise<{ jobs: Row[]; last: string | null }> => {
      const jobs: Row[] = []
      let last = after
      for (let looked = 0; looked < accounts; looked++) {
        const some = await driver.all(states, { kind, queue, node, after: last, now, each })
        // Nothing of the next account may be due by now, or there is none.
        const account = some[0] ?? (await driver.first(NEXT_ACCOUNT, { kind, queue, after: last }))
        if (account === null) return { jobs, last: null }
        last = account.accountId
        jobs.push(...some)
      }
      return { jobs, last }
    },
    nextDue: async (queue: string) => (await driver.first(NEXT_DUE, { kind, queue, node }))?.at ?? null,
  }
}
