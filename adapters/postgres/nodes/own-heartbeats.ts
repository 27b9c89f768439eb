import { SILENT_MS } from '../../../src/catalogue/rules/copy-rules.ts'

/** Interval of the heartbeats, in ms. */
export const HEARTBEAT_MS = 5_000
/** A longer pause between two written heartbeats means that the database took none. */
const LATE_MS = 2 * HEARTBEAT_MS

interface Outage {
  ms: number
  /** Each other node has written a heartbeat by then, unless it is down. */
  until: number
}

const NONE: Outage = { ms: 0, until: 0 }

/**
 * The heartbeats that this node has written. While they fail, those of the other nodes fail, too, so their silence says
 * nothing about them. Times are ms since the epoch.
 */
export class OwnHeartbeats {
  #last: number | null = null
  #outage = NONE
  /** When the heartbeats without a break began. */
  #since = 0

  wrote(now: number): void {
    this.#outage = this.#outageAt(now)
    if (this.#last === null || now - this.#last > LATE_MS) this.#since = now
    this.#last = now
  }

  get hasBegun(): boolean {
    return this.#last !== null
  }

  /** Returns the time in ms for which the heartbeats have had no break, until now. */
  unbrokenMs(now: number): number {
    return this.#last === null || now - this.#last > LATE_MS ? 0 : now - this.#since
  }

  /** Returns the time in ms for which the others could not report either. It is 0 once each had time to report again. */
  silenceMs(now: number): number {
    return this.#outageAt(now).ms
  }

  #outageAt(now: number): Outage {
    const last = this.#last
    if (last === null) return NONE
    const earlier = last < this.#outage.until ? this.#outage.ms : 0
    if (now - last > LATE_MS) return { ms: earlier + now - last, until: now + SILENT_MS }
    return now < this.#outage.until ? this.#outage : NONE
  }
}
