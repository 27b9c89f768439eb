import { type Clock, waitFor } from '../domain/clock.ts'
import type { Logger } from '../domain/logger.ts'
import type { VerificationProgress } from '../ledger/verification-progress.ts'
import type { ScheduledVerification } from './scheduled-verification.ts'

const DAY_MS = 86_400_000
const RETRY_MS = 60_000

interface DueVerificationParts {
  table: VerificationProgress
  /** 0 if the node verifies nothing by itself. */
  everyDays: number
  /** Loads and starts the verification. */
  load: () => Promise<Pick<ScheduledVerification, 'behindMs'> | null>
  clock: Clock
  logger: Logger
}

/** Loads the verification when its next round is due. From then on, the verification has its own timers. */
export class DueVerification {
  readonly #parts: DueVerificationParts
  readonly #everyMs: number
  #loaded: Pick<ScheduledVerification, 'behindMs'> | null = null
  #loading: Promise<void> = Promise.resolve()
  #cancelTimer: () => void = () => undefined
  #isStopped = false

  constructor(parts: DueVerificationParts) {
    this.#parts = parts
    this.#everyMs = parts.everyDays * DAY_MS
  }

  /** Continues an interrupted round, or waits for the next one. The first is an interval after the node's first start. */
  async start(): Promise<void> {
    const { table, clock } = this.#parts
    if (this.#everyMs === 0) return
    const state = table.get() ?? { lastBlock: 0, blocks: 0, damaged: 0, endedAt: clock.now() }
    if (table.get() === undefined) await table.set(state)
    if (state.lastBlock > 0) await this.#load()
    else this.#sleep(state.endedAt + this.#everyMs)
  }

  /** Returns the time in ms by which the verification is behind its schedule. */
  behindMs(): number {
    const { table, clock } = this.#parts
    if (this.#loaded !== null) return this.#loaded.behindMs()
    const state = table.get()
    if (this.#everyMs === 0 || state === undefined) return 0
    return Math.max(0, Math.round(clock.now() - state.endedAt - this.#everyMs))
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelTimer()
    await this.#loading
  }

  #sleep(due: number): void {
    const { clock } = this.#parts
    this.#cancelTimer = clock.after(waitFor(due, clock.now()), () => {
      if (clock.now() < due) this.#sleep(due)
      else this.#loading = this.#load().catch((err: unknown) => this.#retry(err))
    })
  }

  async #load(): Promise<void> {
    this.#loaded = await this.#parts.load()
  }

  #retry(err: unknown): void {
    if (this.#isStopped) return
    const { clock, logger } = this.#parts
    logger.error({ err }, 'cannot load the verification; it is repeated')
    this.#sleep(clock.now() + RETRY_MS)
  }
}
