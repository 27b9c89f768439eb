import type { Clock } from '../domain/clock.ts'
import type { PendingNode } from '../domain/pending-nodes.ts'

/** One thread that serves content. */
export interface RevisionFollower {
  /** Confirms a revision, then resolves with the next one. Rejects when the thread or the node ends. */
  next(confirmed: number): Promise<number>
  /** True if the thread has not confirmed the newest revision. */
  readonly isAwaited: boolean
  /** Forgets the thread, for which nobody waits any longer. */
  end(): void
}

const NUMBER = 0

/** The newest revision that a node has applied, in memory that its threads share. */
export class KnownRevision {
  readonly memory: BigInt64Array

  constructor(memory: BigInt64Array = new BigInt64Array(new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT))) {
    this.memory = memory
  }

  get number(): number {
    return Number(Atomics.load(this.memory, NUMBER))
  }
}

/** Maximum time for which a change waits. It covers the replacement of a thread whose event loop is blocked. */
export const WAIT_MS = 5_000

/**
 * Numbers the changes of what strangers may be given. After each revision, every thread decides its open responses
 * again, and then confirms the revision.
 */
export class RevisionLog extends KnownRevision {
  readonly #clock: Clock
  readonly #node: string | null
  readonly #followers = new Set<Follower>()
  /** Resolves at the next confirmation. */
  #progress = Promise.withResolvers<void>()

  /** @param node the configured id of this node, or null */
  constructor(clock: Clock, node: string | null) {
    super()
    this.#clock = clock
    this.#node = node
  }

  /** This node with all its threads. */
  get whole(): PendingNode {
    return { node: this.#node, thread: null }
  }

  /** Tells all threads of a change that this node has applied. Each new response follows it from now on. */
  publish(number = this.number + 1): void {
    if (number <= this.number) return
    Atomics.store(this.memory, NUMBER, BigInt(number))
    for (const follower of this.#followers) follower.tell(number)
  }

  /**
   * Adds a thread. Until it ends, each change waits for its confirmation. It starts with the newest revision.
   *
   * @param thread number of the gateway thread; null for the main thread
   */
  follow(thread: number | null): RevisionFollower {
    const follower = new Follower(thread, this.number, () => this.#advance())
    this.#followers.add(follower)
    const isAwaited = (): boolean => follower.confirmed < this.number
    return {
      get isAwaited() {
        return isAwaited()
      },
      next: confirmed => follower.next(confirmed, this.number),
      end: () => {
        this.#followers.delete(follower)
        follower.end()
        this.#advance()
      },
    }
  }

  /** Waits until all threads have confirmed the newest revision. Returns those that have not after {@link WAIT_MS}. */
  settled(): Promise<PendingNode[]> {
    return this.pending(this.number)
  }

  /** Waits until all threads have confirmed a revision. Returns those that have not after {@link WAIT_MS}. */
  async pending(number: number): Promise<PendingNode[]> {
    const late = Promise.withResolvers<'late'>()
    const cancel = this.#clock.after(WAIT_MS, () => late.resolve('late'))
    for (let left = this.#left(number); ; left = this.#left(number)) {
      const isOver = left.length === 0 || (await Promise.race([this.#progress.promise, late.promise])) === 'late'
      if (!isOver) continue
      cancel()
      return this.#left(number)
    }
  }

  #left(number: number): PendingNode[] {
    const left = [...this.#followers].filter(({ confirmed }) => confirmed < number)
    return left.map(({ thread }) => ({ node: this.#node, thread }))
  }

  #advance(): void {
    this.#progress.resolve()
    this.#progress = Promise.withResolvers()
  }
}

class Follower {
  readonly thread: number | null
  readonly #onConfirmed: () => void
  #confirmed: number
  #asking: PromiseWithResolvers<number> | null = null

  constructor(thread: number | null, confirmed: number, onConfirmed: () => void) {
    this.thread = thread
    this.#confirmed = confirmed
    this.#onConfirmed = onConfirmed
  }

  get confirmed(): number {
    return this.#confirmed
  }

  next(confirmed: number, newest: number): Promise<number> {
    if (confirmed > this.#confirmed) {
      this.#confirmed = confirmed
      this.#onConfirmed()
    }
    this.#asking = Promise.withResolvers()
    if (newest > this.#confirmed) this.tell(newest)
    return this.#asking.promise
  }

  tell(number: number): void {
    this.#asking?.resolve(number)
  }

  end(): void {
    this.#asking?.reject(new Error('the thread has ended'))
  }
}

/** Decides the open responses of a thread again after each revision, then confirms it, until the thread or node ends. */
export async function followRevisions(next: RevisionFollower['next'], decide: () => Promise<void>): Promise<void> {
  for (let confirmed = 0; ; ) {
    const number = await next(confirmed).catch(() => null)
    if (number === null) return
    await decide()
    confirmed = number
  }
}
