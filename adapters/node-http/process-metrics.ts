import { readdirSync } from 'node:fs'
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
import { descriptorLimit } from './connections.ts'
import { type Families, type Sample, single } from './exposition.ts'
import type { Stall } from './loop-watch.ts'

const QUANTILES = [0.5, 0.9, 0.99] as const
const LOOP_RESOLUTION_MS = 20
/** Of Linux: a name for each file and socket that the process has open. */
const DESCRIPTORS = '/proc/self/fd'

/** Measures the process. The delay of the event loop is that since it was last asked for. */
export class ProcessMetrics {
  /** How late the event loop came round, in nanoseconds. */
  readonly #loop: RecordableHistogram = createHistogram()
  readonly #stalls = new Map<string, { count: number; seconds: number }>()

  constructor() {
    // monitorEventLoopDelay does not see a loop that is starved in microtasks; a timer that comes late does.
    let due = performance.now() + LOOP_RESOLUTION_MS
    setInterval(() => {
      const now = performance.now()
      this.#loop.record(Math.max(1, Math.round((now - due) * 1e6)))
      due = now + LOOP_RESOLUTION_MS
    }, LOOP_RESOLUTION_MS).unref()
  }

  stalled({ ms, work }: Stall): void {
    const stalls = this.#stalls.get(work ?? 'unknown') ?? { count: 0, seconds: 0 }
    this.#stalls.set(work ?? 'unknown', { count: stalls.count + 1, seconds: stalls.seconds + ms / 1_000 })
  }

  /** What the watch of the loop has told. */
  writeStalls(out: Families): void {
    const stalls = (amountOf: (of: { count: number; seconds: number }) => number): Sample[] =>
      [...this.#stalls].map(([work, of]) => ({ labels: { work }, value: amountOf(of) }))
    const counts = stalls(({ count }) => count)
    out.counter('holdfast_loop_stalls_total', 'Times that the event loop was held, by who held it.', counts)
    const seconds = stalls(({ seconds }) => seconds)
    out.counter('holdfast_loop_stalled_seconds_total', 'How long the event loop was held, by who held it.', seconds)
  }

  /** What every program tells under the same names. */
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
    out.gauge('process_resident_memory_bytes', 'Resident memory.', single(process.memoryUsage.rss()))
    const started = 'When the process started, in seconds since the epoch.'
    out.gauge('process_start_time_seconds', started, single(performance.timeOrigin / 1_000))
    const open = openDescriptors()
    if (open === null) return
    out.gauge('process_open_fds', 'Files and sockets that are open.', single(open))
    out.gauge('process_max_fds', 'How many may be.', single(descriptorLimit()))
  }
}

/** Null where the system does not tell, or not while all are taken. */
function openDescriptors(): number | null {
  try {
    // The list itself is one of them.
    return readdirSync(DESCRIPTORS).length - 1
  } catch {
    return null
  }
}
