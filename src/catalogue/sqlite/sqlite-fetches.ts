import { HoldfastError } from '../../domain/errors.ts'
import type { Holds } from '../../ledger/holds.ts'
import type { RootTable } from '../../ledger/root-table.ts'
import type { Fetches } from '../fetches.ts'
import type { RecordRow } from '../records.ts'
import { first, own, run } from '../rules/driver.ts'
import { deliverTo, requestFetch, type WaitingRecords } from '../rules/fetch-requests.ts'
import { dropIfUnneeded, GET, lockFetch, SET_WHOLE } from '../rules/fetch-rows.ts'
import { fetchRules } from '../rules/fetch-rules.ts'
import { lockWaiting } from '../rules/status-rules.ts'
import { type FetchTable, fetchHold } from './fetch-table.ts'
import type { RecordCommit } from './record-commit.ts'
import type { RecordTable } from './record-table.ts'

type Root = NonNullable<ReturnType<RootTable['get']>>

/** @param added called with each new record immediately after its commit */
export function sqliteFetches(
  { fetches, records, roots, holds }: { fetches: FetchTable; records: RecordTable; roots: RootTable; holds: Holds },
  commit: RecordCommit,
  added: (record: RecordRow) => void,
): Fetches {
  const { parts } = fetches
  const { driver } = parts
  const waiting = waitingRecords(records, commit)
  return {
    ...fetchRules(parts),
    request: request =>
      driver.transaction(
        function* () {
          const { isNew: _, ...made } = yield* requestFetch(parts, waiting, request, () => fetches.begin(request))
          return made
        },
        {
          committed: ({ record, created }) => {
            if (created) added(record)
          },
        },
      ),
    complete: (fetchId, dag) =>
      driver.transaction(function* () {
        const fetch = yield* first(GET, { fetchId })
        if (fetch === null || fetch.isWhole) return
        const { id: rootId } = holds.complete(fetch.backendId, fetch.rootId, dag)
        if (rootId !== fetch.rootId) {
          holds.release(fetchHold(fetchId))
          holds.place(fetchHold(fetchId), rootId, null)
        }
        yield* run(SET_WHOLE, { fetchId, rootId })
      }),
    deliver: (fetchId, limits, now) =>
      driver.transaction(function* () {
        const fetch = yield* lockFetch(fetchId)
        const root = fetch === null ? undefined : roots.get(fetch.rootId)
        if (root === undefined) return { changes: [], isDone: true }
        const some = (yield* lockWaiting(fetchId)).map(record => ({ record, content: root }))
        const changes = yield* deliverTo(parts, waiting, { waiting: some, limits, now })
        return { changes, isDone: yield* dropIfUnneeded(parts, fetch) }
      }),
  }
}

function waitingRecords(records: RecordTable, commit: RecordCommit): WaitingRecords<Root> {
  const reread = (id: string): RecordRow => {
    const row = records.get(id)
    if (row === undefined) throw new HoldfastError('INTERNAL_ERROR', `record ${id} no longer exists`)
    return row
  }
  return {
    identical: ({ record, now }) => own(() => records.identical(record, now) ?? null),
    usageWith: (accountId, root, limits, now) => own(() => commit.usageWith(accountId, root, limits, now)),
    insert: row =>
      own(() => {
        records.insert(row)
        return reread(row.id)
      }),
    fulfil: (record, root, now) =>
      own(() => {
        commit.fulfil(record, root.id, now)
        return reread(record.id)
      }),
  }
}
