import type { CID } from 'multiformats/cid'
import { within } from '../concurrency/deadline.ts'
import { underName } from '../concurrency/work.ts'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { Logger } from '../domain/logger.ts'
import { identityOf, parseCid } from '../ipld/cid.ts'
import type { AnnouncedPlace, Announcements, DueRoot } from '../ledger/announcements.ts'
import type { HeldRoots } from '../ledger/held-roots.ts'
import type { ServedBlocks } from '../network/served-blocks.ts'
import type { PinRecord } from './pin-types.ts'

/** Publishes and withdraws provider records at routers. */
export interface Announcing {
  /** Peer id of this node. The node cannot renew provider records that it published under another id. */
  readonly peerId: string
  /** Name of the network that the routers serve. */
  readonly network: string
  /**
   * Publishes the provider record of a CID. Returns false if no router is configured.
   *
   * @throws if every router refuses the record
   */
  announce(cid: CID, signal: AbortSignal): Promise<boolean>
  /** Asks the routers to delete the provider record of a CID. */
  withdraw(cid: CID, signal: AbortSignal): Promise<void>
}

const AT_ONCE = 8
const LONGEST_MS = 60_000
/** Time in ms after which a provider record is renewed. Records live for 48 hours in the public DHT. */
const RENEW_AFTER_MS = 22 * 3_600_000
const LIFETIME_MS = 48 * 3_600_000
const DUE_BATCH = 256
/** Maximum number of new roots in memory. The periodic search finds the roots that exceed this limit. */
const MOST_NEW = 10_000
/** Time in ms between two searches for due roots. */
const LOOK_EVERY_MS = 10 * 60_000
/** Time in ms for which a search pauses after {@link MOST_FAILURES} consecutive failures. */
const AFTER_FAILURES_MS = 60_000
/** Number of consecutive failures after which a search stops. */
const MOST_FAILURES = 16

type Waiting = Pick<DueRoot, 'id' | 'cid'>

/**
 * Publishes a provider record for every pinned root. The announcer announces a root when the root is pinned, and again
 * before the provider record expires. After the peer id or the network of the node has changed, all roots are announced
 * again.
 */
export class Announcer {
  readonly #announcing: Announcing
  readonly #roots: Pick<HeldRoots, 'findAnywhere'>
  readonly #announcements: Announcements
  readonly #served: Pick<ServedBlocks, 'has'>
  readonly #clock: Clock
  readonly #logger: Logger
  /** Roots that were pinned and are not yet announced, by root id. */
  readonly #new = new Map<number, Waiting>()
  /** Due roots that the current search has read and not yet announced. */
  #due: DueRoot[] = []
  /** Position of the search: the due root that was read last. Null at the start of a search. */
  #place: AnnouncedPlace = null
  #isSearching = false
  /** Instant in ms since the epoch. Every root last announced before this instant is due. */
  #since = 0
  #isNewNext = true
  /** True once this search has found a root whose provider record has expired. */
  #isLate = false
  #wasLate = false
  #failures = 0
  readonly #stop = new AbortController()
  #active = 0
  #cancelTimer: () => void = () => undefined

  constructor(parts: {
    announcing: Announcing
    roots: Pick<HeldRoots, 'findAnywhere'>
    announcements: Announcements
    /** Blocks that peers may fetch from this node. A root outside this set is not announced. */
    served: Pick<ServedBlocks, 'has'>
    clock: Clock
    logger: Logger
  }) {
    this.#announcing = parts.announcing
    this.#roots = parts.roots
    this.#announcements = parts.announcements
    this.#served = parts.served
    this.#clock = parts.clock
    this.#logger = parts.logger
  }

  async start(): Promise<void> {
    const { peerId: peer, network } = this.#announcing
    this.#since = await this.#announcements.since({ peer, network }, this.#clock.now())
    this.#search()
  }

  stop(): void {
    this.#stop.abort()
    this.#new.clear()
    this.#cancelTimer()
  }

  /** Queues the root of a record to be announced. Call this when the record becomes `pinned`. */
  pinned(record: PinRecord): void {
    const cid = parseCid(record.cid)
    const root = this.#roots.findAnywhere(identityOf(cid))
    if (root === undefined || this.#new.size >= MOST_NEW) return
    this.#new.set(root.id, { id: root.id, cid })
    this.#next()
  }

  /** Withdraws the provider record of a removed record's root, unless another record holds the root. */
  removed(record: PinRecord): void {
    this.gone(parseCid(record.cid))
  }

  /** Withdraws the provider record of a CID, unless the CID is the root of a complete DAG on this node. */
  gone(cid: CID): void {
    if (this.#roots.findAnywhere(identityOf(cid)) !== undefined) return
    this.#announcing.withdraw(cid, this.#stop.signal).catch((error: unknown) => {
      if (!this.#stop.signal.aborted)
        this.#logger.warn({ err: error, cid: cid.toString() }, 'withdrawing a root failed')
    })
  }

  /** Starts a search for due roots, or resumes a search that failures have stopped. */
  #search(): void {
    this.#isSearching = true
    this.#failures = 0
    this.#next()
  }

  #searchAgain(afterMs: number): void {
    this.#isSearching = false
    this.#cancelTimer = this.#clock.after(afterMs, () => this.#search())
  }

  #next(): void {
    while (this.#active < AT_ONCE && !this.#stop.signal.aborted) {
      const root = this.#take()
      if (root === undefined) return
      this.#active++
      void underName('announcements', () => this.#announce(root)).finally(() => {
        this.#active--
        this.#next()
      })
    }
  }

  /** Returns the next root to announce. New roots and due roots alternate while both exist. */
  #take(): Waiting | undefined {
    const [first] = this.#new.values()
    const due = first !== undefined && this.#isNewNext ? undefined : this.#nextDue()
    this.#isNewNext = due !== undefined
    if (due !== undefined || first === undefined) return due
    this.#new.delete(first.id)
    return first
  }

  #nextDue(): DueRoot | undefined {
    if (!this.#isSearching) return undefined
    if (this.#due.length === 0) {
      const now = this.#clock.now()
      const before = Math.max(now - RENEW_AFTER_MS, this.#since)
      this.#due = this.#announcements.due({ before, now }, this.#place, DUE_BATCH)
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

  /** Warns once when renewals fall behind, and again only after a search without an expired record. */
  #noteAge({ announcedAt, cid }: DueRoot): void {
    if (this.#isLate || announcedAt === null || this.#clock.now() - announcedAt < LIFETIME_MS) return
    this.#isLate = true
    if (this.#wasLate) return
    const message = 'provider records expire before they are renewed: peers may not find pinned content'
    this.#logger.warn({ cid: cid.toString(), announcedAt: new Date(announcedAt).toISOString() }, message)
  }

  async #announce({ id, cid }: Waiting): Promise<void> {
    if (!this.#served.has(cid)) return
    const late = (): HoldfastError => new HoldfastError('ABORTED', 'took too long')
    try {
      const isAnnounced = await within(
        { clock: this.#clock, ms: LONGEST_MS, late, signal: this.#stop.signal },
        ended => {
          return this.#announcing.announce(cid, ended)
        },
      )
      if (!isAnnounced || this.#stop.signal.aborted) return
      this.#failures = 0
      await this.#announcements.set(id, this.#clock.now())
    } catch (error) {
      if (this.#stop.signal.aborted) return
      this.#logger.warn({ err: error, cid: cid.toString() }, 'announcing a root failed')
      if (++this.#failures >= MOST_FAILURES && this.#isSearching) this.#searchAgain(AFTER_FAILURES_MS)
    }
  }
}
