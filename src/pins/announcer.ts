import type { CID } from 'multiformats/cid'
import { identityOf, parseCid } from '../domain/cid.ts'
import type { Clock } from '../domain/clock.ts'
import { within } from '../domain/deadline.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { Logger } from '../domain/logger.ts'
import { underName } from '../domain/work.ts'
import type { HeldRoots } from '../ledger/held-roots.ts'
import type { PinRecord } from './types.ts'

/** Tells routers who has a content. */
export interface Announcing {
  /** False if there is no router to tell. */
  announce(cid: CID, signal: AbortSignal): Promise<boolean>
  /** Has routers forget it in time. */
  withdraw(cid: CID, signal: AbortSignal): Promise<void>
}

const AT_ONCE = 8
const LONGEST_MS = 60_000
/** Provider records live for 48 hours in the public DHT; they are renewed well before. */
const RENEW_AFTER_MS = 22 * 3_600_000
const RENEW_BATCH = 1_000
const LOOK_EVERY_MS = 10 * 60_000

/** Has the network know of every pinned root: at once when it is pinned, and again before routers forget. */
export class Announcer {
  readonly #announcing: Announcing
  readonly #roots: HeldRoots
  readonly #mayTell: (root: CID) => boolean
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #waiting = new Map<number, CID>()
  readonly #stop = new AbortController()
  #active = 0
  #cancelTimer: () => void = () => undefined

  constructor(parts: {
    announcing: Announcing
    roots: HeldRoots
    /** Whether anybody may know of a root that is here. */
    mayTell: (root: CID) => boolean
    clock: Clock
    logger: Logger
  }) {
    this.#announcing = parts.announcing
    this.#roots = parts.roots
    this.#mayTell = parts.mayTell
    this.#clock = parts.clock
    this.#logger = parts.logger
  }

  start(): void {
    this.#renew()
  }

  stop(): void {
    this.#stop.abort()
    this.#waiting.clear()
    this.#cancelTimer()
  }

  /** To be called when a record has become `pinned`. */
  pinned(record: PinRecord): void {
    const cid = parseCid(record.cid)
    const root = this.#roots.findAnywhere(identityOf(cid))
    if (root === undefined) return
    this.#waiting.set(root.id, cid)
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

  /** Roots that are due again. */
  #renew(): void {
    for (const root of this.#roots.announcedBefore(this.#clock.now() - RENEW_AFTER_MS, RENEW_BATCH)) {
      this.#waiting.set(root.id, root.cid)
    }
    this.#next()
    this.#cancelTimer = this.#clock.after(LOOK_EVERY_MS, () => this.#renew())
  }

  #next(): void {
    while (this.#active < AT_ONCE && !this.#stop.signal.aborted) {
      const [first] = this.#waiting
      if (first === undefined) return
      const [rootId, cid] = first
      this.#waiting.delete(rootId)
      this.#active++
      void underName('announcements', () => this.#announce(rootId, cid)).finally(() => {
        this.#active--
        this.#next()
      })
    }
  }

  async #announce(rootId: number, cid: CID): Promise<void> {
    if (!this.#mayTell(cid)) return
    const late = (): HoldfastError => new HoldfastError('ABORTED', 'took too long')
    try {
      const told = await within({ clock: this.#clock, ms: LONGEST_MS, late, signal: this.#stop.signal }, ended => {
        return this.#announcing.announce(cid, ended)
      })
      if (!told || this.#stop.signal.aborted) return
      const now = this.#clock.now()
      await this.#roots.setAnnounced(rootId, now)
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#logger.warn({ err: error, cid: cid.toString() }, 'announcing a root failed')
    }
  }
}
