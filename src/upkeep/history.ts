import type { Clock } from '../domain/clock.ts'
import type { Metrics, RequestObservation } from '../domain/metrics.ts'
import type { EngineStats } from '../pins/lists/statistics.ts'

/** Requests in one span of time, and gauges at its end. */
export interface HistorySample {
  /** Start of the span, in milliseconds since the epoch. */
  at: number
  /** Answered requests of API and gateway. */
  requests: number
  /** Requests refused with 4xx. */
  refused: number
  /** Requests failed with 5xx. */
  failed: number
  /** Body bytes. */
  receivedBytes: number
  sentBytes: number
  /** Bytes of durable blocks; null until the first reading. */
  storedBytes: number | null
  /** Live records. */
  pins: number | null
  /** Free bytes on the disk of the data directory. */
  freeBytes: number | null
  /** Connected peers. */
  peers: number | null
}

type Gauges = Pick<HistorySample, 'storedBytes' | 'pins' | 'freeBytes' | 'peers'>

/** Lengths of a sample, in seconds. */
export const HISTORY_STEPS = [60, 900] as const
export type HistoryStep = (typeof HISTORY_STEPS)[number]

/** Three hours by the minute, three days by the quarter of an hour. */
const MOST_SAMPLES: Readonly<Record<HistoryStep, number>> = { 60: 180, 900: 288 }
const READ_MS = 60_000

/**
 * Recent requests and gauges of a node, bounded, and in memory only. Wraps the metrics of the host and forwards to
 * them.
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

  /** Returns the samples, oldest first; the last one is still open. */
  samples(step: HistoryStep): readonly HistorySample[] {
    this.#now()
    return this.#series[step].all
  }

  /** Reads the gauges every minute from now on. */
  start(read: () => Promise<EngineStats>): void {
    const look = async (): Promise<void> => {
      // A stopping node, or one with a failed disk, has no stats.
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

  /** Returns the sample of the present span, which is the last one. */
  at(now: number): HistorySample {
    const ms = this.#step * 1_000
    const at = Math.floor(now / ms) * ms
    const last = this.#samples.at(-1)
    // After a clock was set back, the open sample continues.
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
