import { readdirSync } from 'node:fs'
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
import { descriptorLimit } from './connections.ts'
import { type Families, type Sample, single } from './exposition.ts'
import { everyMs } from './loop-time.ts'
import type { Stall } from './loop-watch.ts'

const QUANTILES = [0.5, 0.9, 0.99] as const
const LOOP_RESOLUTION_MS = 20
/** Directory with one entry for each open file and socket of the process, on Linux only. */
const DESCRIPTORS = '/proc/self/fd'

/** The reported delay of the event loop covers the time since the metrics were last read. */
export class ProcessMetrics {
  readonly #loop: RecordableHistogram = createHistogram()
  readonly #stalls = new Map<string, { count: number; seconds: number }>()

  constructor() {
    // `monitorEventLoopDelay` does not notice an event loop that microtasks block. A late timer does.
    everyMs(LOOP_RESOLUTION_MS, elapsed => {
      this.#loop.record(Math.max(1, Math.round((elapsed - LOOP_RESOLUTION_MS) * 1e6)))
    })
  }

  stalled({ ms, work }: Stall): void {
    const stalls = this.#stalls.get(work ?? 'unknown') ?? { count: 0, seconds: 0 }
    this.#stalls.set(work ?? 'unknown', { count: stalls.count + 1, seconds: stalls.seconds + ms / 1_000 })
  }

  writeStalls(out: Families): void {
    const stalls = (amountOf: (of: { count: number; seconds: number }) => number): Sample[] =>
      [...this.#stalls].map(([work, of]) => ({ labels: { work }, value: amountOf(of) }))
    const counts = stalls(({ count }) => count)
    out.counter('holdfast_loop_stalls_total', 'Stalls of the event loop, by the work that caused them.', counts)
    const seconds = stalls(({ seconds }) => seconds)
    out.counter(
      'holdfast_loop_stalled_seconds_total',
      'Duration of stalls of the event loop, by the work that caused them.',
      seconds,
    )
  }

  /** Adds metrics with standard names, and restarts the measurement of the event loop's delay. */
  write(out: Families): void {
    const { count, mean, max } = this.#loop
    const delays = QUANTILES.map((quantile): Sample => {
      return { labels: { quantile: String(quantile) }, value: this.#loop.percentile(quantile * 100) / 1e9 }
    })
    const total = { sum: count === 0 ? 0 : (mean * count) / 1e9, count }
    out.summary('nodejs_eventloop_delay_seconds', 'Delay of the event loop.', delays, total)
    out.gauge('nodejs_eventloop_delay_max_seconds', 'Longest delay of the event loop.', single(max / 1e9))
    this.#loop.reset()
    const { user, system } = process.cpuUsage()
    out.counter('process_cpu_seconds_total', 'Processor time used.', single((user + system) / 1e6))
    const { rss, heapUsed, heapTotal, external } = process.memoryUsage()
    out.gauge('process_resident_memory_bytes', 'Resident memory.', single(rss))
    out.gauge('nodejs_heap_size_used_bytes', 'Heap in use by the main thread.', single(heapUsed))
    out.gauge('nodejs_heap_size_total_bytes', 'Heap of the main thread.', single(heapTotal))
    out.gauge('nodejs_external_memory_bytes', 'Memory outside of the heap, of the main thread.', single(external))
    const started = 'When the process started, in seconds since the epoch.'
    out.gauge('process_start_time_seconds', started, single(performance.timeOrigin / 1_000))
    const open = openDescriptors()
    if (open === null) return
    out.gauge('process_open_fds', 'Open files and sockets.', single(open))
    out.gauge('process_max_fds', 'Most open files and sockets.', single(descriptorLimit()))
  }
}

function openDescriptors(): number | null {
  try {
    // Reading the directory uses one descriptor itself.
    return readdirSync(DESCRIPTORS).length - 1
  } catch {
    return null
  }
}
