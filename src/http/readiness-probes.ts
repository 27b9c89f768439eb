import type { Clock } from '../domain/clock.ts'

/** Ports that answer `/ready`. */
export type ProbedPort = 'api' | 'gateway'

/** Time in ms that a stop leaves to proxies and to other nodes, which look at their list of nodes every two seconds. */
const LEAST_MS = 5_000
/** Limit in ms, for load balancers that ask more slowly. */
const LONGEST_MS = 30_000
/** Refusals after which usual load balancers send nothing more. */
const ENOUGH = 3
/** A port that was ready twice within this time in ms has a load balancer. A single answer may end a wait for a start. */
const WATCHED_MS = 30_000

interface Probed {
  /** Times of the last two answers that the port is ready. */
  ready: number[]
  refused: number
}

/** Notes who asks `/ready`, so that a stop waits for load balancers, but does not wait without them. */
export class ReadinessProbes {
  readonly #clock: Clock
  readonly #ports: Readonly<Record<ProbedPort, Probed>> = {
    api: { ready: [], refused: 0 },
    gateway: { ready: [], refused: 0 },
  }
  #onRefused: () => void = () => undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  answered(port: ProbedPort, isReady: boolean): void {
    const probed = this.#ports[port]
    if (isReady) {
      probed.ready = [...probed.ready.slice(-1), this.#clock.now()]
      return
    }
    probed.refused++
    this.#onRefused()
  }

  /**
   * Waits at the beginning of a stop until load balancers have been refused often enough, at most `ms`. Returns at once
   * if there are neither load balancers nor other nodes.
   */
  async noticed(ms: number, hasOtherNodes: boolean): Promise<void> {
    const watched = Object.values(this.#ports).filter(probed => this.#isWatched(probed))
    if (watched.length === 0 && !hasOtherNodes) return
    const before = new Map(watched.map(probed => [probed, probed.refused]))
    const isKnown = (): boolean => [...before].every(([{ refused }, at]) => refused - at >= ENOUGH)
    await this.#wait(Math.min(LEAST_MS, ms))
    if (isKnown()) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#onRefused = () => {
      if (isKnown()) resolve()
    }
    const cancel = this.#clock.after(Math.min(LONGEST_MS, ms) - Math.min(LEAST_MS, ms), resolve)
    await promise
    cancel()
  }

  #isWatched({ ready: [first, second] }: Probed): boolean {
    return first !== undefined && second !== undefined && this.#clock.now() - first <= WATCHED_MS
  }

  #wait(ms: number): Promise<void> {
    return new Promise(resolve => this.#clock.after(ms, resolve))
  }
}
