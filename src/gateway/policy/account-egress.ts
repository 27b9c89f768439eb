import type { EgressStore } from '../../catalogue/egress.ts'
import type { Clock } from '../../domain/clock.ts'
import { isHoldfastError } from '../../domain/errors.ts'
import type { Logger } from '../../domain/logger.ts'
import type { Metrics } from '../../domain/metrics.ts'
import type { PaidContent, Payer } from './egress-cap.ts'
import { EgressLimits } from './egress-limits.ts'
import { EgressTally, type PaidBytes } from './egress-tally.ts'

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
  /** Returns live roots that make the content public, at most as many as may pay. */
  rootsOf: (content: PaidContent) => readonly number[]
  /** Returns the bytes of a month that a plan allows. Null means no limit. */
  mostOf: (plan: string) => number | null
  clock: Clock
  logger: Logger
  metrics: Pick<Metrics, 'egress'>
}

const WRITE_MS = 4_000
/** Maximum number of accounts and roots in one transaction. */
const ROWS_AT_ONCE = 100

/** The traffic of the gateway by account. Bytes wait in memory for a few seconds, then are written together. */
export class Egress {
  readonly #means: EgressMeans
  readonly tally: EgressTally
  readonly #limits = new EgressLimits()
  /** Reads of what accounts have sent. A write waits for them, so that each read is before or after each write. */
  readonly #asking = new Set<Promise<unknown>>()
  #writing: Promise<void> = Promise.resolve()
  #isStopping = false

  constructor(means: EgressMeans) {
    this.#means = means
    this.tally = new EgressTally(means.clock, WRITE_MS, rows => {
      this.#writing = Promise.allSettled([this.#writing, ...this.#asking]).then(() => this.#write(rows))
      return this.#writing
    })
  }

  /** Adds the report of the reader thread `holder`. */
  report(holder: number, rows: readonly PaidBytes[]): void {
    for (const row of rows) if ('accountId' in row) this.#limits.reported(row.accountId, holder, row.bytes)
    this.#add(rows)
  }

  /** Ends the responses of a thread that has ended. */
  forget(holder: number): void {
    this.#limits.forget(holder)
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
   * Returns the accounts that may pay for content, oldest first. Accounts after the first without a limit never pay, so
   * the list ends with it. An account whose first record is older pays first.
   */
  async payersOf(content: PaidContent): Promise<Payer[]> {
    for (let seen = null; seen !== this.#writing; ) {
      seen = this.#writing
      await seen
    }
    const asked = this.#payersOf(content)
    this.#asking.add(asked)
    return asked.finally(() => this.#asking.delete(asked))
  }

  async #payersOf(content: PaidContent): Promise<Payer[]> {
    const { store, holdOf, rootsOf, mostOf, clock } = this.#means
    const holdIds = rootsOf(content).flatMap(rootId => holdOf(rootId) ?? [])
    if (holdIds.length === 0) return []
    const now = clock.now()
    const found = await store.payersOf(holdIds, { now, month: monthOf(now) })
    const payers: Payer[] = []
    for (const payer of found) {
      const most = mostOf(payer.plan)
      const { accountId } = payer
      payers.push({ accountId, left: most === null ? null : this.#limits.learn(payer, most) })
      if (most === null) break
    }
    return payers
  }

  async #write(rows: readonly PaidBytes[]): Promise<void> {
    for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
      await this.#writeSome(rows.slice(from, from + ROWS_AT_ONCE))
    }
  }

  async #writeSome(rows: readonly PaidBytes[]): Promise<void> {
    const { store, holdOf, clock, logger, metrics } = this.#means
    const now = clock.now()
    try {
      const sent = rows.flatMap(row => {
        if ('accountId' in row) return row
        const holdId = row.rootId === null ? null : holdOf(row.rootId)
        return holdId === null ? [] : { domain: row.domain, bytes: row.bytes, holdId }
      })
      const added = sent.length === 0 ? [] : await store.add(sent, { now, month: monthOf(now) })
      for (const row of rows) if ('accountId' in row) this.#limits.wrote(row.accountId, row.bytes)
      for (const [domain, all] of Map.groupBy(rows, row => row.domain)) {
        const counted = sumOf(added.filter(row => row.domain === domain))
        metrics.egress?.({ domain, counted, uncounted: sumOf(all) - counted })
      }
    } catch (err) {
      logger.warn({ err }, 'gateway traffic of the last seconds could not be written')
      // Bytes that may have been written are not written again.
      if (isHoldfastError(err, 'OUTCOME_UNKNOWN')) {
        for (const row of rows) if ('accountId' in row) this.#limits.lost(row.accountId, row.bytes)
      } else if (!this.#isStopping) this.#add(rows)
    }
  }

  #add(rows: readonly PaidBytes[]): void {
    for (const row of rows) this.tally.count(row)
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
