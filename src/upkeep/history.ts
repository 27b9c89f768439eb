import type { Clock } from '../domain/clock.ts'
import type { Metrics, RequestObservation } from '../domain/metrics.ts'
import type { EngineStats } from '../pins/lists/statistics.ts'

/** Requests in one time span, and the gauges at the end of the span. */
export interface HistorySample {
  /** Start of the span in ms since the epoch. */
  at: number
  requests: number
  /** Requests rejected with a 4xx status. */
  refused: number
  /** Requests that failed with a 5xx status. */
  failed: number
  /** Bytes in request bodies, and in response bodies. */
  receivedBytes: number
  sentBytes: number
  /** Total size of durable blocks in bytes. Null before the first reading of the gauges. */
  storedBytes: number | null
  /** Number of live records. Null before the first reading. */
  pins: number | null
  /** Free bytes on the disk of the data directory. Null if unknown. */
  freeBytes: number | null
  /** Number of connected peers. Null before the first reading. */
  peers: number | null
}

type Gauges = Pick<HistorySample, 'storedBytes' | 'pins' | 'freeBytes' | 'peers'>

/** Possible lengths of a time span, in seconds. */
export const HISTORY_STEPS = [60, 900] as const
export type HistoryStep = (typeof HISTORY_STEPS)[number]

/** Three hours of one-minute spans, and three days of quarter-hour spans. */
const MOST_SAMPLES: Readonly<Record<HistoryStep, number>> = { 60: 180, 900: 288 }
const READ_MS = 60_000

/** Records recent requests and gauges in memory. Wraps the metrics of the host, and forwards all calls to them. */
export class History implements Metrics {
  readonly #clock: Clock
  readonly #metrics: Metrics | null
  readonly finished: Metrics['finished']
  readonly #series: Readonly<Record<HistoryStep, Series>> = { 60: new Series(60), 900: new Series(900) }
  #cancel: () => void = () => undefined
  #stopped = false

  constructor(clock: Clock, metrics: Metrics | null = null) {
    this.#clock = clock
    this.#metrics = metrics
    if (metrics?.finished !== undefined) this.finished = work => metrics.finished?.(work)
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

  egress(sent: Parameters<NonNullable<Metrics['egress']>>[0]): void {
    this.#metrics?.egress?.(sent)
  }

  collected(freed: Parameters<Metrics['collected']>[0]): void {
    this.#metrics?.collected(freed)
  }

  /** Returns the samples, oldest first. The span of the last sample has not ended yet. */
  samples(step: HistoryStep): readonly HistorySample[] {
    this.#now()
    return this.#series[step].all
  }

  /** Starts to read the gauges once a minute. */
  start(read: () => Promise<EngineStats>): void {
    const look = async (): Promise<void> => {
      // The stats are unavailable while the node stops or its disk has failed.
      const stats = await read().catch(() => null)
      if (this.#stopped) return
      for (const series of Object.values(this.#series)) if (stats !== null) series.see(gaugesOf(stats))
      this.#cancel = this.#clock.after(READ_MS, look)
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

  /** Returns the sample of the current span, which is the last one in the series. */
  at(now: number): HistorySample {
    const ms = this.#step * 1_000
    const at = Math.floor(now / ms) * ms
    const last = this.#samples.at(-1)
    // If the clock was set back, continue the last sample.
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
