import { createHistogram } from 'node:perf_hooks'
import { type Collected, type EngineStats, type Metrics, type RequestObservation, VERSION } from '../../src/index.ts'
import { Exposition, type Labels } from './exposition.ts'
import type { Stall } from './loop-watch.ts'

/** Bounds of how long a request takes to be answered, in seconds. */
const BUCKETS = [0.005, 0.025, 0.1, 0.5, 2.5, 10, 60] as const
const QUANTILES = [0.5, 0.9, 0.99] as const
const LOOP_RESOLUTION_MS = 20

interface Timing {
  labels: Labels
  buckets: number[]
  seconds: number
  count: number
}

/**
 * Counts what an engine does, for Prometheus. Hand it to `createEngine` and to a handler, which then answers
 * `/metrics`; or ask it for its text. The delay of the event loop is that of the process, since it was last asked.
 */
export class PrometheusMetrics implements Metrics {
  readonly #requests = new Map<string, { labels: Labels; value: number }>()
  readonly #timings = new Map<string, Timing>()
  readonly #received = { api: 0, gateway: 0 }
  readonly #sent = { api: 0, gateway: 0 }
  readonly #freed = { collections: 0, roots: 0, blocks: 0, bytes: 0 }
  /** How late the event loop came round, in nanoseconds. */
  readonly #loop = createHistogram()
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

  /** Called by the engine. */
  request({ surface, method, route, status, source, bytesIn, ms }: RequestObservation): void {
    const place = { surface, method, route: route ?? 'none' }
    const labels = { ...place, status: String(status), source: source ?? 'none' }
    const key = Object.values(labels).join(' ')
    const counted = this.#requests.get(key) ?? { labels, value: 0 }
    counted.value += 1
    this.#requests.set(key, counted)
    this.#received[surface] += bytesIn
    this.#time(place, ms / 1_000)
  }

  /** Called by the engine. */
  collected({ roots, blocks, bytes }: Collected): void {
    this.#freed.collections += 1
    this.#freed.roots += roots
    this.#freed.blocks += blocks
    this.#freed.bytes += bytes
  }

  /** Called by the handler with the bytes of bodies as they go out. */
  sent(surface: 'api' | 'gateway', bytes: number): void {
    this.#sent[surface] += bytes
  }

  /** Called by the watch of the event loop. */
  stalled({ ms, work }: Stall): void {
    const stalls = this.#stalls.get(work ?? 'unknown') ?? { count: 0, seconds: 0 }
    this.#stalls.set(work ?? 'unknown', { count: stalls.count + 1, seconds: stalls.seconds + ms / 1_000 })
  }

  /** Everything, in Prometheus's text format; with what the engine holds if that is given. */
  text(stats?: EngineStats): string {
    const out = new Exposition()
    out.gauge('holdfast_info', 'The version that runs.', [[{ version: VERSION }, 1]])
    this.#writeTraffic(out)
    out.counter('holdfast_collections_total', 'Collections that have ended.', [[{}, this.#freed.collections]])
    out.counter('holdfast_collected_roots_total', 'DAGs released.', [[{}, this.#freed.roots]])
    out.counter('holdfast_collected_blocks_total', 'Blocks deleted.', [[{}, this.#freed.blocks]])
    out.counter('holdfast_collected_bytes_total', 'Bytes freed.', [[{}, this.#freed.bytes]])
    if (stats !== undefined) writeStats(out, stats)
    this.#writeProcess(out)
    return out.text()
  }

  #time(labels: Labels, seconds: number): void {
    const key = Object.values(labels).join(' ')
    const timing = this.#timings.get(key) ?? { labels, buckets: BUCKETS.map(() => 0), seconds: 0, count: 0 }
    for (const [index, bound] of BUCKETS.entries()) {
      if (seconds <= bound) timing.buckets[index] = (timing.buckets[index] ?? 0) + 1
    }
    timing.seconds += seconds
    timing.count += 1
    this.#timings.set(key, timing)
  }

  #writeTraffic(out: Exposition): void {
    const requests = [...this.#requests.values()].map(({ labels, value }): [Labels, number] => [labels, value])
    out.counter('holdfast_requests_total', 'Requests answered.', requests)
    out.histogram('holdfast_request_seconds', 'Until the answer began.', BUCKETS, [...this.#timings.values()])
    const surfaces = ({ api, gateway }: { api: number; gateway: number }): [Labels, number][] => [
      [{ surface: 'api' }, api],
      [{ surface: 'gateway' }, gateway],
    ]
    out.counter('holdfast_received_bytes_total', 'Body bytes read.', surfaces(this.#received))
    out.counter('holdfast_sent_bytes_total', 'Body bytes sent.', surfaces(this.#sent))
  }

  #writeProcess(out: Exposition): void {
    const delays = QUANTILES.map((quantile): [Labels, number] => {
      return [{ quantile: String(quantile) }, this.#loop.percentile(quantile * 100) / 1e9]
    })
    out.gauge('nodejs_eventloop_delay_seconds', 'Delay of the event loop.', delays)
    out.gauge('nodejs_eventloop_delay_max_seconds', 'Longest delay of the event loop.', [[{}, this.#loop.max / 1e9]])
    this.#loop.reset()
    const stalls = (value: (of: { count: number; seconds: number }) => number): [Labels, number][] =>
      [...this.#stalls].map(([work, of]) => [{ work }, value(of)])
    const stalled = 'Times that the event loop was held, by who held it.'
    out.counter(
      'holdfast_loop_stalls_total',
      stalled,
      stalls(({ count }) => count),
    )
    const seconds = 'How long the event loop was held, by who held it.'
    out.counter(
      'holdfast_loop_stalled_seconds_total',
      seconds,
      stalls(({ seconds }) => seconds),
    )
    const { user, system } = process.cpuUsage()
    out.counter('process_cpu_seconds_total', 'Processor time used.', [[{}, (user + system) / 1e6]])
    out.gauge('process_resident_memory_bytes', 'Resident memory.', [[{}, process.memoryUsage.rss()]])
  }
}

function writeStats(out: Exposition, stats: EngineStats): void {
  const by = <T>(name: string, of: Readonly<Record<string, T>>, value: (item: T) => number): [Labels, number][] =>
    Object.entries(of).map(([key, item]) => [{ [name]: key }, value(item)])
  out.gauge('holdfast_accounts', 'Accounts.', [[{}, stats.accounts]])
  out.gauge(
    'holdfast_pins',
    'Records by status.',
    by('status', stats.pins, count => count),
  )
  const accounted = 'What counts against quotas, over all accounts.'
  out.gauge('holdfast_accounted_bytes', accounted, [[{}, stats.accountedBytes]])
  out.gauge(
    'holdfast_roots',
    'DAGs by state.',
    by('state', stats.roots, ({ count }) => count),
  )
  out.gauge(
    'holdfast_blocks',
    'Distinct blocks by state.',
    by('state', stats.blocks, ({ count }) => count),
  )
  out.gauge(
    'holdfast_block_bytes',
    'Their bytes.',
    by('state', stats.blocks, ({ bytes }) => bytes),
  )
  const garbage = 'Blocks that wait for the collector, counted up to 100,000.'
  out.gauge('holdfast_garbage_blocks', garbage, [[{}, stats.garbageBlocks]])
  const ofDisks = (value: (disk: EngineStats['disks'][number]) => number): [Labels, number][] =>
    stats.disks.map(disk => [{ backend: String(disk.backend) }, value(disk)])
  out.gauge(
    'holdfast_disk_free_bytes',
    'Room on the disks of blocks.',
    ofDisks(disk => disk.freeBytes),
  )
  out.gauge(
    'holdfast_disk_reserve_bytes',
    'Room that new content leaves.',
    ofDisks(disk => disk.reserveBytes),
  )
  out.gauge(
    'holdfast_disk_full',
    'Whether new content is refused.',
    ofDisks(disk => Number(disk.isFull)),
  )
  const { blocks, damaged, endedAt } = stats.verification
  out.gauge('holdfast_verified_blocks', 'Checked in the round of verification under way, or the last.', [[{}, blocks]])
  out.gauge('holdfast_damaged_blocks', 'Damaged ones among them.', [[{}, damaged]])
  const ended = 'When the last round of verification ended, or the first start was.'
  out.gauge('holdfast_verification_ended_seconds', ended, [[{}, (endedAt ?? 0) / 1_000]])
  out.gauge('holdfast_peers', 'Peers connected.', [[{}, stats.peers]])
}
