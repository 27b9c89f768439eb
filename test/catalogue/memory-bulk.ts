import {
  type BulkChange,
  type BulkChanges,
  type BulkFailure,
  CHANGE_KEPT_MS,
  editedRecord,
  FAILURES_KEPT,
  MOST_CHANGES,
  type RecordRow,
  type UndoPeriods,
  usageWithRemoved,
} from '../../src/catalogue/index.ts'
import { HoldfastError } from '../../src/index.ts'
import type { MemoryContent } from './memory-content.ts'
import { isOver, memoryUndo, type StoredChange, shown } from './memory-undo.ts'

/** Changes of many records in memory. The holds stay in place while a removal can be undone. */
export function memoryBulk(all: MemoryContent, hasAccount: (id: string) => boolean): BulkChanges & UndoPeriods {
  const changes = new Map<number, StoredChange>()
  all.removed = () => [...changes.values()].flatMap(({ removed }) => [...removed.values()])
  const named = (accountId: string, name: string): StoredChange | undefined =>
    [...changes.values()].find(change => change.accountId === accountId && change.name === name)
  const at = (id: number, place: string, phase: BulkChange['phase']): StoredChange | null => {
    const change = changes.get(id)
    return change === undefined || change.place !== place || change.phase !== phase ? null : change
  }
  const fail = (change: StoredChange, failures: BulkFailure[]): void => {
    const kept = [...(JSON.parse(change.failures) as BulkFailure[]), ...failures]
    change.failures = JSON.stringify(kept.slice(0, FAILURES_KEPT))
    change.failed += failures.length
  }
  const advance = (change: StoredChange, next: string | null, phase: BulkChange['phase'], now: number): void => {
    if (next !== null) change.place = next
    else Object.assign(change, { phase, place: '', endedAt: now, selection: '', dueAt: now + change.undoMs })
  }
  return {
    ...memoryUndo(all, changes),
    async add(change) {
      if (!hasAccount(change.accountId)) throw new HoldfastError('NOT_FOUND', 'no such account')
      const own = [...changes.values()].filter(({ accountId }) => accountId === change.accountId)
      if (own.length >= MOST_CHANGES) throw new HoldfastError('QUOTA_EXCEEDED', 'jobs')
      const made: StoredChange = {
        ...{ ...change, id: ++all.made, phase: 'running', place: '', done: 0, failed: 0, restored: 0 },
        ...{
          failures: '[]',
          freedBytes: 0,
          undoEnded: null,
          endedAt: null,
          attempts: 0,
          dueAt: change.createdAt,
          removed: new Map(),
        },
      }
      changes.set(made.id, made)
      return shown(made)
    },
    async get(accountId, name) {
      const found = named(accountId, name)
      return found && shown(found)
    },
    async list(accountId) {
      const own = [...changes.values()].filter(change => change.accountId === accountId)
      return own.toSorted((a, b) => b.id - a.id).map(shown)
    },
    async recent({ after, limit }) {
      const before = after === null ? Number.POSITIVE_INFINITY : Number(after)
      const rows = [...changes.values()].filter(({ id }) => id < before).toSorted((a, b) => b.id - a.id)
      const shownRows = rows.slice(0, limit).map(shown)
      return { rows: shownRows, next: rows.length > limit ? String(shownRows.at(-1)?.id) : null }
    },
    async undo({ accountId, name, limits, now }) {
      const change = named(accountId, name)
      if (change === undefined) throw new HoldfastError('NOT_FOUND', 'no job has this id')
      if (change.phase === 'undoing' || change.phase === 'undone') return shown(change)
      if (isOver(change, now)) throw new HoldfastError('CONFLICT', 'the undo period is over')
      const { pins, storedBytes } = usageWithRemoved(all.usage(accountId, now), change)
      const isOverPins = limits.maxPins !== null && pins > limits.maxPins
      const isOverBytes = limits.maxStorageBytes !== null && storedBytes > limits.maxStorageBytes
      if (isOverPins || isOverBytes) throw new HoldfastError('QUOTA_EXCEEDED', 'the plan')
      return shown(
        Object.assign(change, { phase: 'undoing', place: '', endedAt: null, selection: '', dueAt: now } as const),
      )
    },
    async remove({ id, place, next, ids, now, isListed }) {
      const change = at(id, place, 'running')
      if (change === null) return null
      const own = (row: RecordRow): boolean =>
        row.accountId === change.accountId && (row.expiresAt === null || row.expiresAt > now)
      const rows = ids.flatMap(one => all.rows.get(one) ?? []).filter(own)
      for (const row of rows) {
        const before = all.usage(row.accountId, now).storedBytes
        all.rows.delete(row.id)
        change.freedBytes += before - all.usage(row.accountId, now).storedBytes
        if (change.undoMs > 0) change.removed.set(row.id, row)
        else all.free(row)
        all.note('pin:removed', row, { from: null, at: null })
      }
      const gone = new Set(rows.map(row => row.id))
      const missing = isListed ? ids.filter(one => !gone.has(one)) : []
      fail(
        change,
        missing.map(uploadId => ({ uploadId, code: 'NOT_FOUND' })),
      )
      change.done += rows.length
      advance(change, next, 'done', now)
      return rows
    },
    async edit({ id, place, next, ids, now, edit, isListed }) {
      const change = at(id, place, 'running')
      if (change === null) return null
      const edited: RecordRow[] = []
      const failures: BulkFailure[] = []
      for (const one of ids) {
        const row = all.rows.get(one)
        const isLive = row?.accountId === change.accountId && (row.expiresAt === null || row.expiresAt > now)
        const after = row !== undefined && isLive ? editedRecord(row, edit) : isListed ? 'NOT_FOUND' : null
        if (typeof after === 'string') failures.push({ uploadId: one, code: after })
        else if (after !== null && after !== row) edited.push(all.write(after))
      }
      fail(change, failures)
      change.done += ids.length - failures.length
      advance(change, next, 'done', now)
      return edited
    },
    async removed(id, after, limit) {
      const rows = [...(changes.get(id)?.removed.values() ?? [])].filter(row => row.id > after)
      return rows.toSorted((a, b) => (a.id < b.id ? -1 : 1)).slice(0, limit)
    },
    async restore({ id, place, next, ids, now, limits }) {
      const change = at(id, place, 'undoing')
      if (change === null) return null
      const rows: RecordRow[] = []
      for (const removed of ids.flatMap(one => change.removed.get(one) ?? [])) {
        const usage = all.usage(change.accountId, now)
        const bytes = removed.rootId === null || all.has(removed.accountId, removed) ? 0 : removed.charge
        const isOverPins = limits.maxPins !== null && usage.pins + 1 > limits.maxPins
        const isOverBytes = limits.maxStorageBytes !== null && usage.storedBytes + bytes > limits.maxStorageBytes
        if (removed.expiresAt !== null && removed.expiresAt <= now)
          fail(change, [{ uploadId: removed.id, code: 'EXPIRED' }])
        else if (isOverPins || isOverBytes) fail(change, [{ uploadId: removed.id, code: 'QUOTA_EXCEEDED' }])
        else {
          const isFailed = removed.rootId === null && removed.status !== 'failed'
          const row = { ...removed, fetchId: null, ...(isFailed && { status: 'failed' as const, statusAt: now }) }
          change.removed.delete(row.id)
          if (!all.rows.has(row.id)) rows.push(all.write(row))
          change.restored++
          change.freedBytes -= bytes
        }
      }
      advance(change, next, 'undone', now)
      return rows
    },
    async purge(id, now) {
      const change = changes.get(id)
      if (change === undefined || change.endedAt === null) return false
      if (!isOver(change, now)) {
        change.dueAt = change.endedAt + change.undoMs
        return false
      }
      if (change.removed.size === 0) {
        change.dueAt = change.endedAt + CHANGE_KEPT_MS
        if (now >= change.dueAt) changes.delete(id)
        return false
      }
      for (const row of [...change.removed.values()].slice(0, 50)) {
        change.removed.delete(row.id)
        all.free(row)
      }
      return true
    },
    async due({ now }) {
      return { jobs: [...changes.values()].filter(({ dueAt }) => dueAt <= now).map(shown), last: null }
    },
    async nextDue() {
      const times = [...changes.values()].map(({ dueAt }) => dueAt)
      return times.length === 0 ? null : Math.min(...times)
    },
    async begin(id) {
      const change = changes.get(id)
      if (change === undefined) return undefined
      change.attempts++
      return shown(change)
    },
    async retry(id, at_) {
      const change = changes.get(id)
      if (change !== undefined) change.dueAt = at_
    },
    async pause({ id }, now) {
      const change = changes.get(id)
      if (change !== undefined) Object.assign(change, { dueAt: now, attempts: 0 })
    },
  }
}
