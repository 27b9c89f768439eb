import type { BulkChange, BulkChanges } from '../../catalogue/bulk-changes.ts'
import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import type { Clock } from '../../domain/clock.ts'
import type { HoldfastError } from '../../domain/errors.ts'
import type { Attempt } from '../../jobs/job-runner.ts'

/** Carries out changes that have not ended. The core purges what an ended change has removed. */
export interface ChangeSteps {
  /**
   * Carries out some steps of a change that is running or being undone, from its stored place on.
   * @throws the reason of `signal` after an abort
   */
  step(change: BulkChange, signal: AbortSignal): Promise<void>
}

export interface ChangeAttemptParts {
  bulk: BulkChanges
  clock: Clock
  /**
   * Loads what carries out changes that have not ended.
   * @throws HoldfastError `UNAVAILABLE` if this node has nothing that does
   */
  steps: () => Promise<ChangeSteps>
  /** Called after the purge of an ended undo period. */
  purged: (accountId: string) => void
}

/** Time after which an attempt ends, so that the jobs of other accounts get their turn. */
const SLICE_MS = 2_000

/** Carries out a change of many records for a while. After a crash, the next attempt continues at the stored place. */
export class ChangeAttempt implements Attempt<BulkChange> {
  readonly job: BulkChange
  readonly #parts: ChangeAttemptParts
  readonly #aborting = new AbortController()

  constructor(job: BulkChange, parts: ChangeAttemptParts) {
    this.job = job
    this.#parts = parts
  }

  abort(reason: HoldfastError): void {
    this.#aborting.abort(reason)
  }

  async run(begun: BulkChange): Promise<void> {
    const { bulk, clock } = this.#parts
    const until = clock.now() + SLICE_MS
    for (let change: BulkChange | undefined = begun; change !== undefined; ) {
      this.#aborting.signal.throwIfAborted()
      if (!(await this.#step(change))) return
      change = await bulk.get(change.accountId, change.name)
      if (change !== undefined && clock.now() >= until) return bulk.pause(change, clock.now())
      if (turnSpent()) await nextTurn()
    }
  }

  /** Returns false if the change needs no more work now. */
  async #step(change: BulkChange): Promise<boolean> {
    if (change.phase === 'done' || change.phase === 'undone') return this.#purge(change)
    const steps = await this.#parts.steps()
    await steps.step(change, this.#aborting.signal)
    return true
  }

  async #purge({ id, accountId }: BulkChange): Promise<boolean> {
    const isMore = await this.#parts.bulk.purge(id, this.#parts.clock.now())
    if (!isMore) this.#parts.purged(accountId)
    return isMore
  }
}
