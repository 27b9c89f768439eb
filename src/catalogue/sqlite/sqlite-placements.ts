import { HoldfastError } from '../../domain/errors.ts'
import { checkTransition } from '../../domain/pin-status.ts'
import type { DagIdentity } from '../../ipld/cid.ts'
import type { HoldPlace, Holds } from '../../ledger/holds.ts'
import type { RootTable } from '../../ledger/root-table.ts'
import type { WriteQueue } from '../../storage/write-queue.ts'
import type { StatusChange } from '../fetches.ts'
import type { PlacementKey, PlacementLag, PlacementRow, Placements } from '../placements.ts'
import type { PlacementTable } from './placement-table.ts'
import type { RecordTable } from './record-table.ts'

/** Records that one transaction changes. */
const STEP = 50

/** Placements in the engine's own database. */
export class SqlitePlacements implements Placements {
  readonly #placements: PlacementTable
  readonly #records: RecordTable
  readonly #roots: RootTable
  readonly #holds: Holds
  readonly #queue: WriteQueue

  constructor(
    tables: { placements: PlacementTable; records: RecordTable; roots: RootTable; holds: Holds },
    queue: WriteQueue,
  ) {
    this.#placements = tables.placements
    this.#records = tables.records
    this.#roots = tables.roots
    this.#holds = tables.holds
    this.#queue = queue
  }

  async find(backendId: number, dag: DagIdentity): Promise<PlacementRow | undefined> {
    return this.#placements.find(backendId, dag)
  }

  entrust(
    backendId: number,
    dag: DagIdentity,
    { accountId, now }: { accountId: string; now: number },
  ): Promise<PlacementRow> {
    const work = (): PlacementRow => {
      this.#placements.entrust(backendId, dag, accountId, now)
      const row = this.#placements.find(backendId, dag)
      if (row === undefined) throw new HoldfastError('INTERNAL_ERROR', 'the placement has gone')
      return row
    }
    return this.#queue.run(work, { durable: true })
  }

  withdraw(backendId: number, dag: DagIdentity): Promise<void> {
    return this.#queue.run(() => this.#placements.withdraw(backendId, dag), { durable: true })
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
      if (!row.isPlaced || row.dueAt !== null) {
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

  async after(id: number, limit: number): Promise<PlacementRow[]> {
    return this.#placements.after(id, limit)
  }

  async lost(key: PlacementKey, { now, reason }: { now: number; reason: string }): Promise<StatusChange[]> {
    const begin = (): number | null => {
      const row = this.#current(key)
      const root = row?.isPlaced === true ? this.#roots.find(row.backendId, row) : undefined
      if (row === undefined || root === undefined) return null
      this.#placements.lost(row.id, now, reason)
      this.#roots.setPlaced(root.id, null)
      return root.id
    }
    const rootId = await this.#queue.run(begin, { durable: true })
    const changes: StatusChange[] = []
    for (let place: HoldPlace | undefined = { ends: -1, id: '' }; rootId !== null && place !== undefined; ) {
      const from: HoldPlace = place
      const step = (): { last: HoldPlace | undefined; some: StatusChange[] } => {
        // Once it has got there again, its records are what they are.
        const isLost = this.#current({ id: key.id, generation: key.generation + 1 })?.isPlaced === false
        const held = isLost ? this.#holds.ofRoot(rootId, from, STEP) : []
        return { last: held.at(-1), some: held.flatMap(({ id }) => this.#waitAgain(id, now, reason)) }
      }
      const { last, some } = await this.#queue.run(step, { durable: true })
      for (const change of some) changes.push(change)
      place = last
    }
    return changes
  }

  disown(backendId: number, dag: DagIdentity, now: number): Promise<boolean> {
    return this.#queue.run(() => this.#placements.disown(backendId, dag, now), { durable: true })
  }

  async lag(backendId: number): Promise<PlacementLag> {
    return this.#placements.lag(backendId)
  }

  #waitAgain(hold: string, now: number, reason: string): StatusChange[] {
    const record = this.#records.get(hold)
    if (record?.status !== 'pinned') return []
    checkTransition(record.status, 'pinning')
    this.#records.setStatus(record.id, 'pinning', now, { code: null, text: reason })
    return [{ record: this.#records.get(record.id) ?? record, from: record.status }]
  }

  #current({ id, generation }: PlacementKey): PlacementRow | undefined {
    const row = this.#placements.get(id)
    return row?.generation === generation ? row : undefined
  }
}
