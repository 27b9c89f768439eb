import type { RevisionRows } from '../catalogue/revision-rows.ts'
import { type Settling, unsettled, WokenWork, warned } from '../concurrency/woken-work.ts'
import type { Clock } from '../domain/clock.ts'
import type { Logger } from '../domain/logger.ts'
import type { PendingNode } from '../domain/pending-nodes.ts'
import { RevisionLog, WAIT_MS } from './revision-log.ts'

export interface FleetRevisionParts {
  rows: RevisionRows
  clock: Clock
  logger: Logger
  /** The configured id of this node; null for a node that runs alone. */
  node: string | null
  /** Applies the changes of all nodes to this node, and publishes them to its threads. */
  apply: () => Promise<void>
  /** Notes durably in the ledger what the node is about to confirm. */
  confirming: (newest: number) => Promise<void>
}

/** Interval in ms at which a change looks for confirmations. */
const LOOK_MS = 50

interface Applied {
  /** Number of the newest change in the database. */
  newest: number
  /** Number of the same change in the log of this node. */
  own: number
  isConfirmed: boolean
}

/** The log of a node that shares its catalogue. It follows the changes of all nodes, and confirms them. */
export class FleetRevisions extends RevisionLog implements Settling {
  readonly #parts: FleetRevisionParts
  readonly #following: WokenWork
  readonly #confirming: WokenWork
  /** Null if the database may have been set back, or has not been read yet. */
  #applied: Applied | null = null
  /** Number of connections to the database so far. */
  #connections = 0
  #isFailing = false
  /** The next run, while it is queued and has not started. */
  #next: Promise<number> | null = null
  #last: Promise<unknown> = Promise.resolve()

  constructor(parts: FleetRevisionParts) {
    super(parts.clock, parts.node)
    this.#parts = parts
    const warn = warned(parts.logger, 'changes by other nodes could not be applied yet; this node tries again')
    const failed = (err: unknown): void => {
      if (!this.#isFailing) warn(err)
      this.#isFailing = true
    }
    this.#following = new WokenWork(async () => void (await this.catchUp()), {
      name: 'revisions',
      isDue: async () => (await parts.rows.newest()) !== this.#applied?.newest,
      failed,
    })
    this.#confirming = new WokenWork(() => this.#confirm(), {
      name: 'confirmations of revisions',
      isDue: async () => this.#applied?.isConfirmed === false,
      failed,
    })
  }

  /**
   * Compares the newest number of the database with that of this node. A look after each failure repeats what failed.
   *
   * @param newest null after a new connection, because the database may have been set back to older numbers
   */
  look(newest: number | null): void {
    if (newest === null) {
      this.#connections++
      this.#applied = null
    }
    if (this.#applied === null || newest !== this.#applied.newest) this.#following.wake()
    else if (!this.#applied.isConfirmed) this.#confirming.wake()
  }

  /**
   * Applies the changes of all nodes up to a time after the call. Returns the number of the newest.
   *
   * @throws HoldfastError `UNAVAILABLE`, and the errors of `apply`
   */
  catchUp(): Promise<number> {
    this.#next ??= this.#last.then(() => {
      // The run may miss later changes, so later callers queue another run.
      this.#next = null
      return this.#follow()
    })
    this.#last = this.#next.catch(() => undefined)
    return this.#next
  }

  /** Catches up and confirms, so that other nodes wait for this node from its first heartbeat on. */
  async start(): Promise<void> {
    await this.catchUp()
    await this.#confirm()
  }

  unsettled(): Promise<string[]> {
    return unsettled([this.#following, this.#confirming])
  }

  async stop(): Promise<void> {
    await Promise.all([this.#following.stop(), this.#confirming.stop()])
  }

  /**
   * Waits for this node and the other nodes. If the database does not answer, returns this whole node as pending in
   * place of the others.
   */
  override async settled(): Promise<PendingNode[]> {
    const until = this.#parts.clock.now() + WAIT_MS
    const newest = await this.catchUp().catch(() => null)
    const own = await super.settled()
    const others = newest === null ? [this.whole] : await this.#others(newest, until)
    return [...own, ...others]
  }

  async #follow(): Promise<number> {
    const connections = this.#connections
    // Read first: changes that the number does not count may be applied, too, and are applied again.
    const newest = await this.#parts.rows.newest()
    if (newest !== this.#applied?.newest) {
      await this.#parts.apply()
      if (connections === this.#connections) this.#applied = { newest, own: this.number, isConfirmed: false }
    }
    this.#isFailing = false
    this.#confirming.wake()
    return newest
  }

  async #confirm(): Promise<void> {
    const applied = this.#applied
    if (applied === null || applied.isConfirmed || (await this.pending(applied.own)).length > 0) return
    await this.#parts.confirming(applied.newest)
    await this.#parts.rows.confirm(applied.newest)
    applied.isConfirmed = true
  }

  async #others(newest: number, until: number): Promise<PendingNode[]> {
    const { rows, clock } = this.#parts
    for (;;) {
      const left = await rows.unconfirmed(newest).catch(() => null)
      if (left === null) return [this.whole]
      if (clock.now() >= until || !left.some(({ isAwaited }) => isAwaited)) {
        return left.map(({ node }) => ({ node, thread: null }))
      }
      await new Promise<void>(resolve => clock.after(LOOK_MS, resolve))
    }
  }
}
