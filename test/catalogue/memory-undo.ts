import type { BulkChange, RecordRow, UndoEnd, UndoPeriods } from '../../src/catalogue/index.ts'
import { keyOf, type MemoryContent } from './memory-content.ts'

/** A change, the time at which it is due, and its removed records that are not purged. */
export type StoredChange = BulkChange & { dueAt: number; removed: Map<string, RecordRow> }

export function isOver({ undoMs, endedAt }: BulkChange, now: number): boolean {
  return undoMs === 0 || (endedAt !== null && endedAt + undoMs <= now)
}

export function shown({ dueAt: _, removed: __, ...change }: StoredChange): BulkChange {
  return change
}

/** Undo periods in memory. Each query counts all removed records. */
export function memoryUndo(all: MemoryContent, changes: ReadonlyMap<number, StoredChange>): UndoPeriods {
  const isKept = (row: RecordRow): boolean => row.rootId !== null && !all.has(row.accountId, row)
  const keptOf = (accountId: string): number => {
    const own = [...changes.values()].filter(change => change.accountId === accountId)
    const rows = own.flatMap(({ removed }) => [...removed.values()]).filter(isKept)
    return [...new Map(rows.map(row => [keyOf(row), row.charge])).values()].reduce((sum, charge) => sum + charge, 0)
  }
  const keeping = (): string[] => {
    const accounts = new Set([...changes.values()].map(({ accountId }) => accountId))
    return [...accounts].filter(id => keptOf(id) > 0)
  }
  const end = (change: StoredChange, why: UndoEnd): BulkChange | null => {
    if (change.action !== 'delete' || change.undoMs === 0) return null
    if (change.phase === 'undoing' && why !== 'account') return null
    return shown(
      Object.assign(change, { undoMs: 0, undoEnded: why, dueAt: change.endedAt === null ? change.dueAt : 0 }),
    )
  }
  const hasEnded = ({ phase }: BulkChange): boolean => phase === 'done' || phase === 'undone'
  return {
    keptBytes: async accountId => keptOf(accountId),
    keptTotals: async () => ({
      accounts: keeping().length,
      bytes: keeping().reduce((sum, id) => sum + keptOf(id), 0),
    }),
    async endExcess({ accountId, most, now }) {
      const own = [...changes.values()].filter(change => change.accountId === accountId && change.action === 'delete')
      const newest = own.findLast(({ undoMs }) => undoMs > 0)
      if (newest === undefined || keptOf(accountId) <= Math.max(most, newest.freedBytes)) return null
      const holding = own.filter(({ removed }) => removed.size > 0)
      if (holding.some(change => isOver(change, now))) return null
      const oldest = holding.find(change => change !== newest && hasEnded(change))
      return oldest === undefined ? null : end(oldest, 'quota')
    },
    async endForRoom({ backends }) {
      const accounts = keeping()
      const share = accounts.reduce((sum, id) => sum + keptOf(id), 0) / Math.max(accounts.length, 1)
      const lies = (row: RecordRow): boolean =>
        isKept(row) && backends.includes(all.roots.get(row.rootId ?? 0)?.backendId ?? -1)
      for (const above of [Math.floor(share), 0]) {
        const found = [...changes.values()]
          .filter(change => hasEnded(change) && change.undoMs > 0 && keptOf(change.accountId) > above)
          .filter(({ removed }) => [...removed.values()].some(lies))
          .toSorted((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0) || a.id - b.id)
        if (found[0] !== undefined) return end(found[0], 'disk')
      }
      return null
    },
    async endPeriods({ accountId, why, limit }) {
      const found = [...changes.values()].filter(change => accountId === null || change.accountId === accountId)
      const ending = found.filter(({ action, undoMs }) => action === 'delete' && undoMs > 0).toReversed()
      return ending.slice(0, limit).flatMap(change => end(change, why) ?? [])
    },
  }
}
