import { Semaphore } from '../concurrency/capacity/semaphore.ts'
import { nextTurn, turnSpent } from '../concurrency/turns.ts'
import { WokenWork, warned } from '../concurrency/woken-work.ts'
import type { Clock } from '../domain/clock.ts'
import type { Logger } from '../domain/logger.ts'
import type { ReachWalk, ReachWalks } from '../ledger/reach-walks.ts'
import type { WithheldChange, WithheldLedger, WithheldStatus } from '../ledger/withheld.ts'
import { carriedLinks } from './dag/carried-links.ts'
import type { ReachWalker } from './reach-walk.ts'

export interface WithholdingParts {
  table: WithheldLedger
  walks: ReachWalks
  walker: ReachWalker
  clock: Clock
  logger: Logger
}

export interface WithheldBlocks {
  statusOfBlock(multihash: Uint8Array): WithheldStatus | null
  blocks(): Iterable<{ multihash: Uint8Array; status: WithheldStatus }>
}

type ListChange = Omit<WithheldChange, 'carried'>

/** Interval in ms at which the node looks for due walks, for example of roots that have just become complete. */
const LOOK_MS = 1_000
/** Time in ms after which a walk that could not read a block is repeated. */
const RETRY_MS = 60_000
const AT_ONCE = 50

/**
 * Applies the denylist to the ledger, and walks the affected roots to find the blocks that are still reachable. Until
 * the walk of a root has ended, the root gives access to no block below it.
 */
export class Withholding {
  readonly #parts: WithholdingParts
  /** Prevents a change during a step of a walk, because the step would not see the change. */
  readonly #turn = new Semaphore(1)
  readonly #walks: WokenWork
  #cancelTimer: () => void = () => undefined

  constructor(parts: WithholdingParts) {
    this.#parts = parts
    const failed = warned(parts.logger, 'walks after a takedown failed; they are repeated')
    const isDue = async (): Promise<boolean> => parts.walks.next(parts.clock.now()) !== undefined
    this.#walks = new WokenWork(signal => this.#walk(signal), { name: 'takedown walks', isDue, failed })
  }

  /** Brings the ledger up to date with a denylist, including changes made while the node was stopped. */
  async begin(list: WithheldBlocks): Promise<void> {
    const { table } = this.#parts
    await this.#apply(this.#missed(list))
    for (let after: Uint8Array = new Uint8Array(); ; ) {
      const rows = table.after(after, AT_ONCE)
      const last = rows.at(-1)
      if (last === undefined) return
      after = last.multihash
      await this.#apply(rows.filter(({ multihash }) => list.statusOfBlock(multihash) === null).map(lifted))
    }
  }

  *#missed(list: WithheldBlocks): Generator<ListChange, void, undefined> {
    for (const { multihash, status } of list.blocks()) {
      const row = this.#parts.table.get(multihash)
      if (row?.status !== status || row.applied === 0) yield { multihash, status }
    }
  }

  /**
   * Applies the difference between two denylists. Once the promise resolves, no root gives access to a block that is
   * taken down.
   */
  async change(before: WithheldBlocks, after: WithheldBlocks): Promise<void> {
    await this.#apply(differences(before, after))
    this.wake()
  }

  async #apply(changes: Iterable<ListChange>): Promise<void> {
    let some: WithheldChange[] = []
    const flush = async (): Promise<void> => {
      const given = some
      some = []
      await this.#turn.hold(1, () => this.#parts.table.apply(given))
    }
    for (const change of changes) {
      if (turnSpent()) await nextTurn()
      if (some.push({ ...change, carried: carriedLinks(change.multihash) }) === AT_ONCE) await flush()
    }
    if (some.length > 0) await flush()
  }

  start(): void {
    this.#look()
  }

  /** Stops after the current step. The next start continues with the following one. */
  async stop(): Promise<void> {
    this.#cancelTimer()
    await this.#walks.stop()
  }

  wake(): void {
    this.#walks.wake()
  }

  /** Resolves when no walk is due or a walk has failed. */
  async settled(): Promise<void> {
    await this.#walks.settled()
  }

  unsettled(): Promise<string[]> {
    return this.#walks.unsettled()
  }

  #look(): void {
    this.wake()
    this.#cancelTimer = this.#parts.clock.after(LOOK_MS, () => this.#look())
  }

  async #walk(signal: AbortSignal): Promise<void> {
    for (let isDue = true; isDue && !signal.aborted; ) {
      isDue = await this.#turn.hold(1, () => this.#step(signal))
      if (turnSpent()) await nextTurn()
    }
  }

  async #step(signal: AbortSignal): Promise<boolean> {
    const walk = this.#parts.walks.next(this.#parts.clock.now())
    if (walk === undefined) return false
    await this.#parts.walker.step(walk, signal).catch((err: unknown) => this.#delay(walk, err))
    return true
  }

  async #delay({ rootId }: ReachWalk, err: unknown): Promise<void> {
    if (this.#walks.isStopped) return
    const { walks, clock, logger } = this.#parts
    logger.warn({ err, rootId, retryMs: RETRY_MS }, 'cannot walk a root with a takedown below it; trying again')
    await walks.delay(rootId, clock.now() + RETRY_MS)
  }
}

function* differences(before: WithheldBlocks, after: WithheldBlocks): Generator<ListChange, void, undefined> {
  for (const { multihash, status } of after.blocks()) {
    if (before.statusOfBlock(multihash) !== status) yield { multihash, status }
  }
  for (const { multihash } of before.blocks()) {
    if (after.statusOfBlock(multihash) === null) yield { multihash, status: null }
  }
}

function lifted({ multihash }: { multihash: Uint8Array }): ListChange {
  return { multihash, status: null }
}
