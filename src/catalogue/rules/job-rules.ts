import type { RuleHost } from './access-stores.ts'
import { either, IF_UNLOCKED, indexed } from './dialect.ts'
import { type CatalogueDriver, first, type Rule, run } from './driver.ts'
import { type Columns, type Fragment, fragment, type RuleStatement, sql } from './statement.ts'

/** Each kind has a table of job states. The key of a job is the id of its row in this table. */
export type JobName =
  | 'fetch'
  | 'placement'
  | 'delivery' // feature: webhooks
  | 'bulk'

/** Times are milliseconds since the epoch. */
export interface NewJob {
  kind: JobName
  key: number
  /**
   * The name of a node for fetches, the number of a backend for placements; empty for jobs that any node may run.
   */
  queue: string
  accountId: string
  dueAt: number
  error: string | null
}

type JobKey = Pick<NewJob, 'kind' | 'key'>

/** Longer than any attempt. When the lease ends, another node may run the job. */
export interface Lease {
  node: string
  leaseMs: number
}

/** Columns of a job in a statement that joins `jobs` with a table of states. */
export const JOB = {
  attempts: 'COALESCE(job.attempts, state.attempts)',
  dueAt: 'job.due_at',
  lastError: 'COALESCE(job.last_error, state.last_error)',
} as const

const KEY = 'kind = :kind AND key = :key'
const DUE_OF_QUEUE = 'kind = :kind AND queue = :queue AND due_at IS NOT NULL'
const LEASE = either('', `, leased_by = :node, leased_until = clock_timestamp() + :leaseMs::float8 * INTERVAL '1 ms'`)
const END_LEASE = either('', ', leased_until = NULL')
/** Condition: no other node has a lease on the job. */
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

/** Returns SQL that joins the states of a kind with their jobs, if any. */
export function withJob(table: string, kind: JobName): Fragment {
  return fragment`${table} state LEFT JOIN jobs job ON job.kind = '${kind}' AND job.key = state.id`
}

/** Returns a statement that reads the due jobs of the next account, earliest first. */
export function dueStates<Row>(state: Columns<Row>, table: string): RuleStatement<Row> {
  return sql<Row>`
    SELECT ${state} FROM jobs job ${indexed('jobs_by_account')} JOIN ${table} state ON state.id = job.key
    WHERE ${DUE_OF_QUEUE} AND job.account_id = (${ACCOUNT_AFTER}) AND due_at <= :now ${FREE}
    ORDER BY due_at, key LIMIT :each`
}

/** Inserts a job. If the job exists, resets its attempts and moves it to the new queue. */
export function* enqueue(job: NewJob): Rule<void> {
  yield* run(ENQUEUE, job)
}

/** Counts an attempt and leases the job. Returns null if the job does not exist or another node has the lease. */
export function beginJob(key: JobKey, lease: Lease): Rule<{ attempts: number; dueAt: number } | null> {
  return first(BEGIN, { ...key, ...lease })
}

/** Counts an attempt at a job that only one node can run. The job is not due until the attempt ends. */
export function beginAlone(key: JobKey): Rule<{ attempts: number; dueAt: null } | null> {
  return first(BEGIN_ALONE, key)
}

export function* retryJob(key: JobKey, at: number, error: string | null): Rule<void> {
  yield* run(RETRY, { ...key, at, error })
}

/** Returns whether the job exists. */
export function* wakeJob(key: JobKey, at: number): Rule<boolean> {
  return (yield* run(WAKE, { ...key, at })) > 0
}

export function* endJob(key: JobKey): Rule<void> {
  yield* run(END, key)
}

export interface DueQuery {
  now: number
  after: string
  accounts: number
  each: number
}

/** Returns when the first job of a queue is due that this node may run, in ms since the epoch; null without a job. */
export async function dueTime({ driver, node }: RuleHost, kind: JobName, queue: string): Promise<number | null> {
  return (await driver.first(NEXT_DUE, { kind, queue, node }))?.at ?? null
}

/** @param states a statement made by {@link dueStates} */
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
        // Without rows, either the next account has no due job, or no account follows.
        const account = some[0] ?? (await driver.first(NEXT_ACCOUNT, { kind, queue, after: last }))
        if (account === null) return { jobs, last: null }
        last = account.accountId
        jobs.push(...some)
      }
      return { jobs, last }
    },
    nextDue: (queue: string) => dueTime({ driver, node }, kind, queue),
  }
}
