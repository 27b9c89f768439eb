import type { CID } from 'multiformats/cid'
import { cidOf, type DagIdentity } from '../ipld/cid.ts'
import type { Database } from '../storage/database.ts'
import { WithStatements } from '../storage/with-statements.ts'
import type { WriteQueue } from '../storage/write-queue.ts'

/** Peer id and network of a node's announcements. */
export interface AnnouncedAs {
  peer: string
  network: string
}

/** Position of a root in the order of due announcements; null for the start. */
export type AnnouncedPlace = { announcedAt: number | null; id: number } | null

export interface DueRoot {
  id: number
  cid: CID
  announcedAt: number | null
}

type Row = DagIdentity & Omit<DueRoot, 'cid'>

const ROOTS = `
  SELECT id, codec, multihash, announced_at AS announcedAt FROM roots INDEXED BY roots_by_announcement
  WHERE state = 'complete' AND owner = 0`
const ANNOUNCED = "FROM roots INDEXED BY roots_by_announcement WHERE state = 'complete' AND owner = 0 AND announced_at"

/** Stores when complete public roots were announced, and under which peer id and network. */
export class Announcements extends WithStatements {
  readonly #never = this.db.prepare<[number, number], Row>(`
    ${ROOTS} AND announced_at IS NULL AND id > ? ORDER BY id LIMIT ?`)
  readonly #before = this.db.prepare<[number, number, number, number], Row>(`
    ${ROOTS} AND (announced_at, id) > (?, ?) AND announced_at < ? ORDER BY announced_at, id LIMIT ?`)
  readonly #oldest = this.db.prepare<[], { announcedAt: number }>(`
    SELECT announced_at AS announcedAt ${ANNOUNCED} IS NOT NULL ORDER BY announced_at LIMIT 1`)
  readonly #countDue = this.db.prepare<[number, number], { due: number }>(`
    SELECT count(*) AS due FROM (SELECT 1 ${ANNOUNCED} < ? LIMIT ?)`)
  readonly #set = this.db.prepare<[number, number]>('UPDATE roots SET announced_at = ? WHERE id = ?')
  readonly #as = this.db.prepare<[], AnnouncedAs & { since: number }>(`
    SELECT peer, network, since FROM announced_as WHERE id = 1`)
  readonly #setAs = this.db.prepare<[string, string, number]>(`
    INSERT OR REPLACE INTO announced_as (id, peer, network, since) VALUES (1, ?, ?, ?)`)
  readonly #queue: WriteQueue

  constructor(db: Database, queue: WriteQueue) {
    super(db)
    this.#queue = queue
  }

  /** Returns the time since which the node has announced under this peer id and network. */
  async since({ peer, network }: AnnouncedAs, now: number): Promise<number> {
    const known = this.#as.get()
    // A stored time in the future comes from a wrong clock. Such a time would make all roots due for ever.
    if (known?.peer === peer && known.network === network && known.since <= now) return known.since
    await this.#queue.run(() => this.#setAs.run(peer, network, now), { durable: true })
    return now
  }

  /**
   * Returns the roots due after a position. A root is due if it was never announced, was last announced before
   * `before`, or has an announcement after `now` from a wrong clock.
   */
  due({ before, now }: { before: number; now: number }, after: AnnouncedPlace, limit: number): DueRoot[] {
    const isPastNever = after !== null && after.announcedAt !== null
    const never = isPastNever ? [] : this.#never.all(after?.id ?? 0, limit)
    const [at, id] = isPastNever ? [after.announcedAt ?? 0, after.id] : [Number.MIN_SAFE_INTEGER, 0]
    const rows = [...never]
    if (rows.length < limit) rows.push(...this.#before.all(at, id, before, limit - rows.length))
    const [ahead, aheadId] = at > now ? [at, id] : [now, Number.MAX_SAFE_INTEGER]
    const { MAX_SAFE_INTEGER: end } = Number
    if (rows.length < limit) rows.push(...this.#before.all(ahead, aheadId, end, limit - rows.length))
    return rows.map(({ id: rootId, announcedAt, ...dag }) => ({ id: rootId, cid: cidOf(dag), announcedAt }))
  }

  /** Counts the roots announced before `before`, up to a limit. Excludes roots that were never announced. */
  backlog(before: number, limit: number): { due: number; oldestAt: number | null } {
    const { due = 0 } = this.#countDue.get(before, limit) ?? {}
    return { due, oldestAt: this.#oldest.get()?.announcedAt ?? null }
  }

  async set(rootId: number, at: number): Promise<void> {
    await this.#queue.run(() => this.#set.run(at, rootId), { durable: false })
  }
}
