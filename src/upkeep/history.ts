import type { Clock } from '../domain/clock.ts'
import type { Metrics, RequestObservation } from '../domain/metrics.ts'
import type { EngineStats } from '../pins/lists/statistics.ts'

/** What happened in a span of time, and how much there was at its end. */
export interface HistorySample {
  /** When it began, in milliseconds since the epoch. */
  at: number
  /** Answered, of API and gateway. */
  requests: number
  /** Of these refused, 4xx. */
  refused: number
  /** Of these failed, 5xx. */
  failed: number
  /** Body bytes. */
  receivedBytes: number
  sentBytes: number
  /** Of durable blocks; null until it has been looked at. */
  storedBytes: number | null
  /** Live records. */
  pins: number | null
  /** Room on the disk of the data directory. */
  freeBytes: number | null
  /** Connected ones. */
  peers: number | null
}

type Gauges = Pick<HistorySample, 'storedBytes' | 'pins' | 'freeBytes' | 'peers'>

/** How long a sample is, in seconds. */
export const HISTORY_STEPS = [60, 900] as const
export type HistoryStep = (typeof HISTORY_STEPS)[number]

/** Three hours by the minute, three days by the quarter. */
const MOST_SAMPLES: Readonly<Record<HistoryStep, number>> = { 60: 180, 900: 288 }
const LOOK_MS = 60_000

/**
 * What a node has done lately and held, in memory alone and bounded. It begins anew with each start. It takes the place of
 * the host's metrics, and passes on to them.
 */
export class History implements Metrics {
  readonly #clock: Clock
  readonly #metrics: Metrics | null
  readonly #series: Readonly<Record<HistoryStep, Series>> = { 60: new Series(60), 900: new Series(900) }
  #cancel: () => void = () => undefined
  #stopped = false

  constructor(clock: Clock, metrics: Metrics | null = null) {
    this.#clock = clock
    this.#metrics = metrics
  }

  request(observation: RequestObservation): void {
    const { status, bytesIn } = observation
    for (const sample of this.#now()) {
      sample.requests += 1
      if (status >= 500) sample.failed += 1
      else if (status >= 400) sample.refused += 1
      sample.receivedBytes += bytesIn
    }
    this.#metrics?.request(observation)
  }

  answered(bytes: number): void {
    for (const sample of this.#now()) sample.sentBytes += bytes
    this.#metrics?.answered?.(bytes)
  }

  collected(freed: Parameters<Metrics['collected']>[0]): void {
    this.#metrics?.collected(freed)
  }

  /** The oldest first; the last one is still going on. */
  samples(step: HistoryStep): readonly HistorySample[] {
    this.#now()
    return this.#series[step].all
  }

  /** Looks from now on every minute at how much there is. */
  start(read: () => Promise<EngineStats>): void {
    const look = async (): Promise<void> => {
      // A node that is stopping, or whose disk fails, has no more to tell.
      const stats = await read().catch(() => null)
      if (this.#stopped) return
      for (const series of Object.values(this.#series)) if (stats !== null) series.see(gaugesOf(stats))
      this.#cancel = this.#clock.after(LOOK_MS, look)
      this.#now()
    }
    this.#cancel = this.#clock.after(0, look)
  }

  stop(): void {
    this.#stopped = true
    this.#cancel()
  }

  #now(): HistorySample[] {
    const now = this.#clock.now()
    return HISTORY_STEPS.map(step => this.#series[step].at(now))
  }
}

class Series {
  readonly #step: HistoryStep
  readonly #samples: HistorySample[] = []
  #gauges: Gauges = { storedBytes: null, pins: null, freeBytes: null, peers: null }

  constructor(step: HistoryStep) {
    this.#step = step
  }

  get all(): readonly HistorySample[] {
    return this.#samples
  }

  /** The sample of that instant, which is the last one. */
  at(now: number): HistorySample {
    const ms = this.#step * 1_000
    const at = Math.floor(now / ms) * ms
    const last = this.#samples.at(-1)
    // A clock that was set back goes on in the sample that is open.
    if (last !== undefined && at <= last.at) return last
    const sample = { at, requests: 0, refused: 0, failed: 0, receivedBytes: 0, sentBytes: 0, ...this.#gauges }
    this.#samples.push(sample)
    if (this.#samples.length > MOST_SAMPLES[this.#step]) this.#samples.shift()
    return sample
  }

  see(gauges: Gauges): void {
    this.#gauges = gauges
    const last = this.#samples.at(-1)
    if (last !== undefined) Object.assign(last, gauges)
  }
}

function gaugesOf({ blocks, pins, disks, peers }: EngineStats): Gauges {
  return {
    storedBytes: blocks.durable.bytes,
    pins: pins.queued + pins.pinning + pins.pinned + pins.failed,
    freeBytes: disks[0]?.freeBytes ?? null,
    peers,
  }
}
