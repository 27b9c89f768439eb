import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'

/** An answer is used for this long. */
const FRESH_MS = 10_000
/** A request waits no longer for an answer. */
const WAIT_MS = 1_000
const MOST_ROOTS = 10_000

interface Known {
  at: number
  /** Seconds. Null allows the content. */
  wait: Promise<number | null>
}

/** Refuses content of accounts that have sent the bytes of their plan. An unknown state allows the content. */
export class EgressCap {
  readonly #clock: Clock
  readonly #waitOf: (rootId: number) => Promise<number | null>
  readonly #known = new Map<number, Known>()

  /** @param waitOf returns the time in seconds for which the content of a root is refused, or null */
  constructor(clock: Clock, waitOf: (rootId: number) => Promise<number | null>) {
    this.#clock = clock
    this.#waitOf = waitOf
  }

  /** @throws HoldfastError `RATE_LIMIT` if the account of the root has sent the bytes of its plan */
  async check(rootId: number): Promise<void> {
    const retryAfter = await this.#find(rootId)
    if (retryAfter === null) return
    const message = 'the account of this content has sent the bytes that its plan allows in a month'
    throw new HoldfastError('RATE_LIMIT', message, { details: { retryAfter } })
  }

  #find(rootId: number): Promise<number | null> {
    const now = this.#clock.now()
    const known = this.#known.get(rootId)
    if (known !== undefined && now - known.at < FRESH_MS) return known.wait
    // Inserted last, so that the first entry is the oldest.
    this.#known.delete(rootId)
    const oldest = this.#known.size >= MOST_ROOTS ? this.#known.keys().next().value : undefined
    if (oldest !== undefined) this.#known.delete(oldest)
    const wait = this.#ask(rootId)
    this.#known.set(rootId, { at: now, wait })
    return wait
  }

  async #ask(rootId: number): Promise<number | null> {
    const { promise: late, resolve } = Promise.withResolvers<null>()
    const cancel = this.#clock.after(WAIT_MS, () => resolve(null))
    const asked = this.#waitOf(rootId).catch(() => null)
    return Promise.race([asked, late]).finally(cancel)
  }
}
