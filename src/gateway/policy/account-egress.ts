import type { EgressStore } from '../../catalogue/egress.ts'
import type { Clock } from '../../domain/clock.ts'
import { isHoldfastError } from '../../domain/errors.ts'
import type { Logger } from '../../domain/logger.ts'
import type { Metrics } from '../../domain/metrics.ts'
import { EgressTally, type RootBytes } from './egress-tally.ts'

/** Bytes that the gateway sent for an account in the current month. */
export interface AccountEgress {
  /** In UTC, such as `2026-11`. */
  month: string
  bytes: number
  domains: Array<{ domain: string; bytes: number }>
}

export interface EgressMeans {
  store: EgressStore
  /** Returns a hold of a root, or null if nothing holds the root any longer. */
  holdOf: (rootId: number) => string | null
  /** Returns the bytes of a month that a plan allows. Null means no limit. */
  mostOf: (plan: string) => number | null
  clock: Clock
  logger: Logger
  metrics: Pick<Metrics, 'egress'>
}

const WRITE_MS = 4_000
/** Maximum number of roots in one transaction. */
const ROWS_AT_ONCE = 100

/** The traffic of the gateway by account. Bytes wait in memory for a few seconds, then are written together. */
export class Egress {
  readonly #means: EgressMeans
  readonly tally: EgressTally
  #writing: Promise<void> = Promise.resolve()
  #isStopping = false

  constructor(means: EgressMeans) {
    this.#means = means
    this.tally = new EgressTally(means.clock, WRITE_MS, rows => {
      const before = this.#writing
      this.#writing = this.#write(rows).then(() => before)
      return this.#writing
    })
  }

  /** Adds the report of a reader thread. */
  add(rows: readonly RootBytes[]): void {
    for (const row of rows) this.tally.count(row)
  }

  /** Reads the stored traffic of accounts. Returns a function that finds the traffic of one of them. */
  async read(accountIds: readonly string[]): Promise<(accountId: string) => AccountEgress> {
    const now = this.#means.clock.now()
    const rows = Map.groupBy(await this.#means.store.read(accountIds, monthOf(now)), ({ accountId }) => accountId)
    const month = new Date(now).toISOString().slice(0, 7)
    return id => {
      const domains = (rows.get(id) ?? []).map(({ domain, bytes }) => ({ domain, bytes }))
      return { month, bytes: sumOf(domains), domains }
    }
  }

  /** Writes the remaining bytes. */
  async stop(): Promise<void> {
    this.#isStopping = true
    void this.tally.report()
    await this.#writing
  }

  /**
   * Returns the time until the next month in seconds if the account of a root has sent the bytes of its plan. Returns
   * null otherwise.
   */
  async waitOf(rootId: number): Promise<number | null> {
    const { store, holdOf, mostOf, clock } = this.#means
    const holdId = holdOf(rootId)
    if (holdId === null) return null
    const now = clock.now()
    const owner = await store.ownerOf(holdId, { now, month: monthOf(now) })
    const most = owner === null ? null : mostOf(owner.plan)
    if (owner === null || most === null || owner.bytes < most) return null
    const date = new Date(now)
    return Math.ceil((Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1) - now) / 1_000)
  }

  async #write(rows: readonly RootBytes[]): Promise<void> {
    for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
      await this.#writeSome(rows.slice(from, from + ROWS_AT_ONCE))
    }
  }

  async #writeSome(rows: readonly RootBytes[]): Promise<void> {
    const { store, holdOf, clock, logger, metrics } = this.#means
    const now = clock.now()
    try {
      const sent = rows.flatMap(({ rootId, ...row }) => {
        const holdId = rootId === null ? null : holdOf(rootId)
        return holdId === null ? [] : { ...row, holdId }
      })
      const added = sent.length === 0 ? [] : await store.add(sent, { now, month: monthOf(now) })
      for (const [domain, all] of Map.groupBy(rows, row => row.domain)) {
        const counted = sumOf(added.filter(row => row.domain === domain))
        metrics.egress?.({ domain, counted, uncounted: sumOf(all) - counted })
      }
    } catch (err) {
      logger.warn({ err }, 'gateway traffic of the last seconds could not be written')
      // Bytes that may have been written are not written again.
      if (!this.#isStopping && !isHoldfastError(err, 'OUTCOME_UNKNOWN')) this.add(rows)
    }
  }
}

function sumOf(rows: ReadonlyArray<{ bytes: number }>): number {
  return rows.reduce((sum, { bytes }) => sum + bytes, 0)
}

/** Returns 202611 for November 2026. */
function monthOf(now: number): number {
  const date = new Date(now)
  return 100 * date.getUTCFullYear() + date.getUTCMonth() + 1
}
