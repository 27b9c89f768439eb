import type { CID } from 'multiformats/cid'
import { within } from '../concurrency/deadline.ts'
import { pause } from '../concurrency/pause.ts'
import { nextTurn, turnSpent } from '../concurrency/turns.ts'
import { underName } from '../concurrency/work.ts'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { Logger } from '../domain/logger.ts'
import { cidOf, identityOf, parseCid } from '../ipld/cid.ts'
import type { AnnouncedPlace, Announcements, DueRoot } from '../ledger/announcements.ts'
import type { HeldRoots } from '../ledger/held-roots.ts'
import { PUBLIC } from '../ledger/possessor.ts'
import type { OwnedDag } from '../ledger/whole-dag.ts'
import type { ServedBlocks } from '../network/served-blocks.ts'
import type { PinRecord } from './pin-types.ts'

export interface Announcing {
  /** Peer id of this node. The node cannot renew provider records that another peer id published. */
  readonly peerId: string
  readonly network: string
  /** Returns false if no router is configured. @throws if every router refuses the record */
  announce(cid: CID, signal: AbortSignal): Promise<boolean>
  withdraw(cid: CID, signal: AbortSignal): Promise<void>
}

/** Provider records that the node has yet to publish. */
export interface AnnouncementBacklog {
  /** New roots that wait for their first announcement. */
  waiting: number
  /** Roots whose provider record is due for renewal, counted up to 10,000. */
  due: number
  /** Oldest provider record of a root, in ms since the epoch. */
  oldestAt: number | null
}

const RENEWED_AT_ONCE = 8
/** New roots may use two places more than renewals, so that slow routers do not delay new roots. */
const AT_ONCE = RENEWED_AT_ONCE + 2
/**
 * One announcement takes about 0.1 s of processor time. The pause leaves the event loop to requests, and still renews
 * 390,000 roots in {@link RENEW_AFTER_MS}.
 */
const START_EVERY_MS = 200
const LONGEST_MS = 60_000
/** Provider records live for 48 hours in the public DHT. */
const RENEW_AFTER_MS = 22 * 3_600_000
const LIFETIME_MS = 48 * 3_600_000
const DUE_BATCH = 256
const MOST_COUNTED = 10_000
/** The periodic search finds the roots above this limit. */
const MOST_NEW = 10_000
const LOOK_EVERY_MS = 10 * 60_000
const AFTER_FAILURES_MS = 60_000
const MOST_FAILURES = 16

type Waiting = Pick<DueRoot, 'id' | 'cid'>

interface AnnouncerParts {
  announcing: Announcing
  roots: Pick<HeldRoots, 'findAnywhere'>
  announcements: Announcements
  /** Peers can fetch only these blocks. The announcer skips every other root. */
  served: Pick<ServedBlocks, 'has'>
  clock: Clock
  logger: Logger
}

/**
 * Publishes and renews a provider record for every pinned root. If the peer id or the network changes, the announcer
 * announces all roots again.
 */
export class Announcer {
  readonly #parts: AnnouncerParts
  readonly #new = new Map<number, Waiting>()
  #due: DueRoot[] = []
  /** Due root that the search read last. Null at the start of a search. */
  #place: AnnouncedPlace = null
  #isSearching = false
  #since = 0
  #isLate = false
  #wasLate = false
  #failures = 0
  readonly #stop = new AbortController()
  #active = 0
  #isStarting = false
  #cancelTimer: () => void = () => undefined

  constructor(parts: AnnouncerParts) {
    this.#parts = parts
  }

  async start(): Promise<void> {
    const { peerId: peer, network } = this.#parts.announcing
    this.#since = await this.#parts.announcements.since({ peer, network }, this.#parts.clock.now())
    this.#search()
  }

  stop(): void {
    this.#stop.abort()
    this.#new.clear()
    this.#cancelTimer()
  }

  pinned(record: PinRecord): void {
    const cid = parseCid(record.cid)
    const root = this.#parts.roots.findAnywhere(identityOf(cid), PUBLIC)
    if (root === undefined || this.#new.size >= MOST_NEW) return
    this.#new.set(root.id, { id: root.id, cid })
    this.#next()
  }

  /** Withdraws the provider record of the root, unless another record holds the root. Private content has none. */
  removed(record: PinRecord): void {
    if (record.visibility === 'public') this.gone(parseCid(record.cid))
  }

  changed(record: PinRecord): void {
    if (record.status === 'pinned') this.pinned(record)
  }

  /** Announces a record that has become public, and withdraws the provider record of one that has become private. */
  shown(record: PinRecord): void {
    if (record.visibility === 'private') this.gone(parseCid(record.cid))
    else this.changed(record)
  }

  /** Withdraws the provider record of a public root of which this node has lost its last hold. */
  left(dag: OwnedDag): void {
    if (dag.owner === PUBLIC) this.gone(cidOf(dag))
  }

  /** Withdraws the provider record of a CID, unless this node has a complete DAG with this root. */
  gone(cid: CID): void {
    if (this.#parts.roots.findAnywhere(identityOf(cid), PUBLIC) !== undefined) return
    this.#parts.announcing.withdraw(cid, this.#stop.signal).catch((error: unknown) => {
      if (!this.#stop.signal.aborted)
        this.#parts.logger.warn({ err: error, cid: cid.toString() }, 'withdrawing a root failed')
    })
  }

  backlog(): AnnouncementBacklog {
    return { waiting: this.#new.size, ...this.#parts.announcements.backlog(this.#dueBefore(), MOST_COUNTED) }
  }

  #search(): void {
    this.#isSearching = true
    this.#failures = 0
    this.#next()
  }

  #searchAgain(afterMs: number): void {
    this.#isSearching = false
    this.#cancelTimer = this.#parts.clock.after(afterMs, () => this.#search())
  }

  #next(): void {
    if (this.#isStarting) return
    this.#isStarting = true
    underName('announcements', () => this.#startAll()).catch((error: unknown) => {
      if (!this.#stop.signal.aborted) this.#parts.logger.error({ err: error }, 'announcing roots failed')
    })
  }

  async #startAll(): Promise<void> {
    const { signal } = this.#stop
    try {
      for (let root = this.#take(); root !== undefined; root = this.#take()) {
        if (turnSpent()) await nextTurn(signal)
        if (!this.#parts.served.has(root.cid)) continue
        this.#active++
        void this.#announce(root).finally(() => {
          this.#active--
          this.#next()
        })
        await pause(this.#parts.clock, START_EVERY_MS, signal)
      }
    } finally {
      this.#isStarting = false
    }
  }

  /** Returns a new root, or else a due one if fewer than {@link RENEWED_AT_ONCE} announcements run. */
  #take(): Waiting | undefined {
    if (this.#stop.signal.aborted || this.#active >= AT_ONCE) return undefined
    const [first] = this.#new.values()
    if (first === undefined) return this.#active < RENEWED_AT_ONCE ? this.#nextDue() : undefined
    this.#new.delete(first.id)
    return first
  }

  #nextDue(): DueRoot | undefined {
    if (!this.#isSearching) return undefined
    if (this.#due.length === 0) {
      const times = { before: this.#dueBefore(), now: this.#parts.clock.now() }
      this.#due = this.#parts.announcements.due(times, this.#place, DUE_BATCH)
    }
    const root = this.#due.shift()
    this.#place = root ?? null
    if (root !== undefined) this.#noteAge(root)
    else {
      this.#wasLate = this.#isLate
      this.#isLate = false
      this.#searchAgain(LOOK_EVERY_MS)
    }
    return root
  }

  #dueBefore(): number {
    return Math.max(this.#parts.clock.now() - RENEW_AFTER_MS, this.#since)
  }

  /** Warns once when renewals fall behind. Warns again only after a search without an expired record. */
  #noteAge({ announcedAt, cid }: DueRoot): void {
    if (this.#isLate || announcedAt === null || this.#parts.clock.now() - announcedAt < LIFETIME_MS) return
    this.#isLate = true
    if (this.#wasLate) return
    const message = 'provider records expire before they are renewed: peers may not find pinned content'
    this.#parts.logger.warn({ cid: cid.toString(), announcedAt: new Date(announcedAt).toISOString() }, message)
  }

  async #announce({ id, cid }: Waiting): Promise<void> {
    const late = (): HoldfastError => new HoldfastError('ABORTED', 'took too long')
    try {
      const isAnnounced = await within(
        { clock: this.#parts.clock, ms: LONGEST_MS, late, signal: this.#stop.signal },
        ended => {
          return this.#parts.announcing.announce(cid, ended)
        },
      )
      if (!isAnnounced || this.#stop.signal.aborted) return
      this.#failures = 0
      await this.#parts.announcements.set(id, this.#parts.clock.now())
    } catch (error) {
      if (this.#stop.signal.aborted) return
      this.#parts.logger.warn({ err: error, cid: cid.toString() }, 'announcing a root failed')
      if (++this.#failures >= MOST_FAILURES && this.#isSearching) this.#searchAgain(AFTER_FAILURES_MS)
    }
  }
}
