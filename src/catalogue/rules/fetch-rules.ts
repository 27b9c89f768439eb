import type { StatusReason } from '../../domain/pin-status.ts'
import type { Fetches, StatusChange } from '../fetches.ts'
import { either, indexed, isSet } from './dialect.ts'
import { first, type Rule, run } from './driver.ts'
import {
  ANY_WAITING,
  dropIfUnneeded,
  type FetchParts,
  FIND,
  fetch,
  fetchJob,
  GET,
  type HeldFetch,
  lockFetch,
} from './fetch-rows.ts'
import { beginAlone, dueJobs, dueStates, endJob, enqueue, retryJob, wakeJob } from './job-rules.ts'
import { SET_FETCH } from './record-statements.ts'
import { fragment, sql } from './statement.ts'
import { lockRecordRows, SOME_WAITING_AS, STEP, type StatusStep } from './status-rules.ts'

/** Empty on SQLite, which has only one node. */
const OWN = either('', 'node = :node AND')

const SET_RUNNING = sql`UPDATE fetches SET running = :isRunning WHERE id = :fetchId`
const FAIL = sql`
  UPDATE fetches SET running = FALSE, attempts = :attempts, last_error = :error, blocks = :blocks, bytes = :bytes,
    charge = :charge
  WHERE id = :fetchId`
const RUNNING = sql<{ id: number }>`
  SELECT id FROM fetches ${indexed('fetches_running')} WHERE ${OWN} ${isSet('running')} ORDER BY id LIMIT :step`
const DUE = dueStates(fetch, 'fetches')
const WAITING_ACCOUNTS = sql<{ accountId: string }>`
  SELECT DISTINCT account_id AS "accountId" FROM records ${indexed('records_by_fetch')}
  WHERE fetch_id = :fetchId AND fetch_id IS NOT NULL`
const WAITERS_OF = sql<{ id: string }>`
  SELECT id FROM records ${indexed('records_waiting')}
  WHERE account_id = :accountId AND fetch_id = :fetchId AND fetch_id IS NOT NULL`
const WAITED_FOR = fragment`
  SELECT DISTINCT fetch_id FROM records ${indexed('records_waiting')}
  WHERE account_id = :accountId AND fetch_id IS NOT NULL`
const HELD_FOR = sql<{ id: number; charge: number }>`
  SELECT id, charge FROM fetches
  WHERE id ${either(`IN (${WAITED_FOR.sqlite})`, `= ANY(ARRAY(${WAITED_FOR.postgres}))`)}`
/** Counts a record that no longer waits, so that the node of the fetch checks whether any record still waits. */
const LEAVE = sql`${either('', 'UPDATE fetches SET leavings = leavings + 1 WHERE id = :fetchId')}`

/** Finds a record that waits for the fetch, and whose content was not lost with a node. */
const NOT_LOST = sql`
  SELECT 1 FROM records ${indexed('records_by_fetch')}
  WHERE fetch_id = :fetchId AND fetch_id IS NOT NULL ${either('', 'AND lost_with IS NULL')} LIMIT 1`

const RETRIED: StatusReason = { code: null, text: 'retried' }
const RESTARTED: StatusReason = { code: null, text: 'the node was restarted' }

export function fetchRules(parts: FetchParts): Omit<Fetches, 'request' | 'complete' | 'deliver'> {
  const { driver, node, status, backend } = parts
  const jobs = dueJobs(driver, 'fetch', node, DUE)
  function* changeSome(fetchId: number, steps: readonly StatusStep[]): Rule<StatusChange[]> {
    const changes: StatusChange[] = []
    for (const step of steps) changes.push(...(yield* status.waiting(fetchId, step)))
    return changes
  }
  const changeAll = async (fetchId: number, steps: readonly StatusStep[], changes: StatusChange[]): Promise<void> => {
    for (const step of steps) {
      while ((await driver.first(SOME_WAITING_AS, { fetchId, from: step.from })) !== null) {
        for (const change of await driver.transaction(() => status.waiting(fetchId, step))) changes.push(change)
      }
    }
  }
  /**
   * Runs `change` on a fetch and updates the waiting records. If no record waits, removes the fetch and returns
   * undefined.
   */
  const changed = async <T>(fetchId: number, steps: readonly StatusStep[], change: (of: HeldFetch) => Rule<T>) => {
    const made = await driver.transaction(function* () {
      const found = yield* lockFetch(fetchId)
      if (found === null || (yield* dropIfUnneeded(parts, found))) return undefined
      const result = yield* change(found)
      return { result, changes: yield* changeSome(fetchId, steps) }
    })
    if (made === undefined) await parts.dropReleased()
    else await changeAll(fetchId, steps, made.changes)
    return made
  }
  function* schedule(fetchId: number, now: number): Rule<boolean> {
    yield* run(SET_RUNNING, { fetchId, isRunning: false })
    return yield* wakeJob({ kind: 'fetch', key: fetchId }, now)
  }
  return {
    start: async (fetchId, now) => {
      const again: StatusStep = { from: 'failed', to: 'queued', now, reason: RETRIED }
      const running: StatusStep = { from: 'queued', to: 'pinning', now, reason: null }
      const begun = await changed(fetchId, [again, running], function* (found) {
        const { holdId: _, isRunning: __, node: ___, ...row } = found
        yield* run(SET_RUNNING, { fetchId, isRunning: true })
        const job = yield* beginAlone({ kind: 'fetch', key: fetchId })
        return job && { ...row, attempts: job.attempts, nextAttemptAt: null }
      })
      return begun?.result ? { fetch: begun.result, changes: begun.changes } : undefined
    },
    fail: async (fetchId, { reason, retryAt, ...brought }, now) => {
      const step = { to: 'failed', now, reason } as const
      const steps: StatusStep[] = [
        { ...step, from: 'queued' },
        { ...step, from: 'pinning' },
      ]
      const ended = await changed(fetchId, steps, function* ({ attempts }) {
        yield* run(FAIL, { fetchId, attempts, error: reason.text, ...brought })
        const job = { kind: 'fetch', key: fetchId } as const
        // Nobody has the content. The owner has given it up, so it is not searched for again and again.
        const isNowhere = reason.code === 'CID_NOT_FOUND' && brought.blocks === 0
        const isGivenUp = isNowhere && (yield* first(NOT_LOST, { fetchId })) === null
        yield* retryAt === null || isGivenUp ? endJob(job) : retryJob(job, retryAt, reason.text)
      })
      return ended?.changes ?? []
    },
    refuse: async (recordIds, reason, now) => {
      const changes: StatusChange[] = []
      for (let from = 0; from < recordIds.length; from += STEP) {
        const ids = recordIds.slice(from, from + STEP)
        const some = await driver.transaction(function* () {
          const refused: StatusChange[] = []
          for (const record of yield* lockRecordRows(ids)) {
            if (record.fetchId === null) continue
            yield* run(SET_FETCH, { id: record.id, fetchId: null })
            refused.push(yield* status.set(record, 'failed', now, reason))
          }
          return refused
        })
        for (const change of some) changes.push(change)
      }
      return changes
    },
    dropOrRepeat: async (fetchId, now) => {
      await changed(fetchId, [], function* (found) {
        if (!(yield* schedule(fetchId, now))) yield* enqueue(fetchJob(parts, found, now, found.lastError))
      })
    },
    dropIfUnneeded: async fetchId => {
      const isGone = await driver.transaction(
        function* () {
          const found = yield* lockFetch(fetchId)
          if (found === null || found.node === node) return yield* dropIfUnneeded(parts, found)
          yield* run(LEAVE, { fetchId })
          yield* parts.notify(found.node)
          return false
        },
        { durable: false },
      )
      if (isGone) await parts.dropReleased()
      return isGone
    },
    resume: async now => {
      const changes: StatusChange[] = []
      for (;;) {
        const interrupted = await driver.all(RUNNING, { node, step: STEP })
        if (interrupted.length === 0) return changes
        for (const { id } of interrupted) {
          await changeAll(id, [{ from: 'pinning', to: 'queued', now, reason: RESTARTED }], changes)
          await driver.transaction(() => schedule(id, now))
        }
      }
    },
    get: async fetchId => (await driver.first(GET, { fetchId })) ?? undefined,
    find: async (backendId, { codec, multihash }, owner) =>
      (await driver.first(FIND, { codec, multihash, owner, backend: backend(backendId) })) ?? undefined,
    isWanted: async fetchId => (await driver.first(ANY_WAITING, { fetchId })) !== null,
    waitingAccounts: async fetchId =>
      (await driver.all(WAITING_ACCOUNTS, { fetchId })).map(({ accountId }) => accountId),
    waitersOf: async (fetchId, accountId) => (await driver.all(WAITERS_OF, { fetchId, accountId })).map(({ id }) => id),
    heldFor: accountId => driver.all(HELD_FOR, { accountId }),
    due: query => jobs.due(node, query),
    nextDue: () => jobs.nextDue(node),
  }
}
