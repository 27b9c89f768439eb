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

/** Tells routers who has a content. */
export interface Announcing {
  /** As whom the node announces: routers know nothing of what it announced under another id. */
  readonly peerId: string
  /** What tells its network from others. */
  readonly network: string
  /** False if there is no router to tell. @throws why no router took it */
  announce(cid: CID, signal: AbortSignal): Promise<boolean>
  /** Has routers forget it in time. */
  withdraw(cid: CID, signal: AbortSignal): Promise<void>
}

const AT_ONCE = 8
const LONGEST_MS = 60_000
/** Provider records live for 48 hours in the public DHT; they are renewed well before. */
const RENEW_AFTER_MS = 22 * 3_600_000
const DUE_BATCH = 256
/** New roots that wait in memory; further ones are found among those that are due. */
const MOST_NEW = 10_000
/** From one search for due roots to the next, and to the rest of it once this many announcements in a row have failed. */
const LOOK_EVERY_MS = 10 * 60_000
const AFTER_FAILURES_MS = 60_000
const MOST_FAILURES = 16

type Waiting = Pick<DueRoot, 'id' | 'cid'>

/**
 * Has the network know of every pinned root: at once when it is pinned, again before routers forget, and again once the
 * node is another peer or on another network. New and due roots take turns.
 */
export class Announcer {
  readonly #announcing: Announcing
  readonly #roots: Pick<HeldRoots, 'findAnywhere'>
  readonly #announcements: Announcements
  readonly #served: Pick<ServedBlocks, 'has'>
  readonly #clock: Clock
  readonly #logger: Logger
  /** By root. */
  readonly #new = new Map<number, Waiting>()
  /** Roots of the search under way, and the place of the last of them; null while there is no search. */
  #due: DueRoot[] = []
  #place: AnnouncedPlace = null
  #isSearching = false
  /** Roots announced before this are due, whatever their age. */
  #since = 0
  #isNewNext = true
  #failures = 0
  readonly #stop = new AbortController()
  #active = 0
  #cancelTimer: () => void = () => undefined

  constructor(parts: {
    announcing: Announcing
    roots: Pick<HeldRoots, 'findAnywhere'>
    announcements: Announcements
    /** The blocks that peers may have: a root that is taken down, or in an absent cluster, is not announced. */
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

  /** To be called when a record has become `pinned`. */
  pinned(record: PinRecord): void {
    const cid = parseCid(record.cid)
    const root = this.#roots.findAnywhere(identityOf(cid))
    if (root === undefined || this.#new.size >= MOST_NEW) return
    this.#new.set(root.id, { id: root.id, cid })
    this.#next()
  }

  /** To be called when a record has gone; with the last one of its root the node no longer has the content. */
  removed(record: PinRecord): void {
    this.gone(parseCid(record.cid))
  }

  /** To be called when content may have gone. */
  gone(cid: CID): void {
    if (this.#roots.findAnywhere(identityOf(cid)) !== undefined) return
    this.#announcing.withdraw(cid, this.#stop.signal).catch((error: unknown) => {
      if (!this.#stop.signal.aborted)
        this.#logger.warn({ err: error, cid: cid.toString() }, 'withdrawing a root failed')
    })
  }

  /** Begins to go through the roots that are due, or goes on after failures. */
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

  /** New and due roots in turns, as long as there are both. */
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
    if (root === undefined) this.#searchAgain(LOOK_EVERY_MS)
    return root
  }

  async #announce({ id, cid }: Waiting): Promise<void> {
    if (!this.#served.has(cid)) return
    const late = (): HoldfastError => new HoldfastError('ABORTED', 'took too long')
    try {
      const told = await within({ clock: this.#clock, ms: LONGEST_MS, late, signal: this.#stop.signal }, ended => {
        return this.#announcing.announce(cid, ended)
      })
      if (!told || this.#stop.signal.aborted) return
      this.#failures = 0
      await this.#announcements.set(id, this.#clock.now())
    } catch (error) {
      if (this.#stop.signal.aborted) return
      this.#logger.warn({ err: error, cid: cid.toString() }, 'announcing a root failed')
      if (++this.#failures >= MOST_FAILURES && this.#isSearching) this.#searchAgain(AFTER_FAILURES_MS)
    }
  }
}
