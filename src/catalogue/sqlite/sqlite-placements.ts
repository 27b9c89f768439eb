import type { DagIdentity } from '../../domain/cid.ts'
import { checkTransition } from '../../domain/pin-status.ts'
import type { RootTable } from '../../ledger/root-table.ts'
import type { WriteQueue } from '../../storage/write-queue.ts'
import type { StatusChange } from '../fetches.ts'
import type { PlacementKey, PlacementRow, Placements } from '../placements.ts'
import type { PlacementTable } from './placement-table.ts'
import type { RecordTable } from './record-table.ts'

/** Records that one transaction changes. */
const STEP = 50

/** Placements in the engine's own database. */
export class SqlitePlacements implements Placements {
  readonly #placements: PlacementTable
  readonly #records: RecordTable
  readonly #roots: RootTable
  readonly #queue: WriteQueue

  constructor(tables: { placements: PlacementTable; records: RecordTable; roots: RootTable }, queue: WriteQueue) {
    this.#placements = tables.placements
    this.#records = tables.records
    this.#roots = tables.roots
    this.#queue = queue
  }

  async find(backendId: number, dag: DagIdentity): Promise<PlacementRow | undefined> {
    return this.#placements.find(backendId, dag)
  }

  async due(query: { backendId: number; now: number; after: string; accounts: number; each: number }): Promise<{
    placements: PlacementRow[]
    last: string | null
  }> {
    const placements: PlacementRow[] = []
    let last: string | null = query.after
    for (let looked = 0; looked < query.accounts; looked++) {
      last = this.#placements.accountAfter(query.backendId, last)
      if (last === null) break
      placements.push(...this.#placements.dueOf(query.backendId, last, query.now, query.each))
    }
    return { placements, last }
  }

  async nextDue(backendId: number): Promise<number | null> {
    return this.#placements.nextDue(backendId)
  }

  begin(key: PlacementKey): Promise<PlacementRow | undefined> {
    const work = (): PlacementRow | undefined => {
      const row = this.#current(key)
      if (row !== undefined) this.#placements.begin(row.id)
      return row && { ...row, attempts: row.attempts + 1 }
    }
    return this.#queue.run(work, { durable: false })
  }

  beginUnpin(key: PlacementKey, until: number): Promise<boolean> {
    const work = (): boolean => {
      const row = this.#current(key)
      if (row === undefined || row.isWanted) return false
      this.#placements.beginUnpin(row.id, until)
      return true
    }
    return this.#queue.run(work, { durable: true })
  }

  placed(key: PlacementKey, now: number): Promise<{ changes: StatusChange[]; isDone: boolean }> {
    const work = (): { changes: StatusChange[]; isDone: boolean } => {
      const row = this.#current(key)
      const root = row?.isWanted === true ? this.#roots.find(row.backendId, row) : undefined
      if (row === undefined || root === undefined) return { changes: [], isDone: true }
      if (!row.isPlaced) {
        this.#placements.setPlaced(row.id)
        this.#roots.setPlaced(root.id, now)
      }
      const waiting = this.#placements.waiting(root.id, STEP)
      const changes = waiting.map(record => {
        checkTransition(record.status, 'pinned')
        this.#records.setStatus(record.id, 'pinned', now, null)
        return { record: this.#records.get(record.id) ?? record, from: record.status }
      })
      return { changes, isDone: waiting.length < STEP }
    }
    return this.#queue.run(work, { durable: true })
  }

  released(key: PlacementKey, { now, until }: { now: number; until: number }): Promise<void> {
    const work = (): void => {
      const row = this.#placements.get(key.id)
      if (row === undefined) return
      const isOver = !row.isWanted && row.generation === key.generation && until <= now
      if (isOver) this.#placements.delete(row.id)
      else this.#placements.unpinEnded(row.id, until > now ? until : 0, Math.max(now, until))
    }
    return this.#queue.run(work, { durable: true })
  }

  retry(key: PlacementKey, { at, reason }: { at: number; reason: string | null }): Promise<void> {
    const work = (): void => {
      if (this.#current(key) !== undefined) this.#placements.retry(key.id, at, reason)
    }
    return this.#queue.run(work, { durable: true })
  }

  #current({ id, generation }: PlacementKey): PlacementRow | undefined {
    const row = this.#placements.get(id)
    return row?.generation === generation ? row : undefined
  }
}
