import { checkFields } from '../../src/domain/known-fields.ts'
import { type Collected, type EngineStats, type Metrics, type RequestObservation, VERSION } from '../../src/index.ts'
import { expositionOf, Families, type Labels, type MetricFamily, type Sample, single } from './exposition.ts'
import { METRICS } from './http-options.ts'
import type { Stall } from './loop-watch.ts'
import { ProcessMetrics } from './process-metrics.ts'
import { writeStats } from './stats-metrics.ts'

/** Bounds in seconds. */
const BUCKETS = [0.005, 0.025, 0.1, 0.5, 2.5, 10, 60] as const
/** Refusals of these routes are counted as failed logins. */
const LOGINS = /\/auth\/(login|2fa\/verify-login)$/
const WRONG_LOGINS: ReadonlySet<string | null> = new Set(['INVALID_API_KEY', '2fa_invalid'])

interface Timing {
  labels: Labels
  buckets: number[]
  seconds: number
  count: number
}

/** Options that select the metrics to include. */
export interface MetricsOptions {
  /**
   * Set false if the host program exports `process_…` and `nodejs_…` itself, because a name may occur only once.
   * Default: true.
   */
  process?: boolean
  /** Memory for blocks that are being sent to clients, from `engine.answerMemory()`. */
  memory?: { used: number; limit: number }
}

/**
 * Prometheus metrics of an engine. Pass this object to `createEngine`, and to a handler, which then serves `/metrics`.
 * A host program can also export `text` or `families` itself.
 *
 * The reported delay of the event loop covers the time since the metrics were last read.
 */
export class PrometheusMetrics implements Metrics {
  readonly #requests = new Map<string, { labels: Labels; value: number }>()
  readonly #refusals = new Map<string, { labels: Labels; value: number }>()
  readonly #timings = new Map<string, Timing>()
  readonly #received = { api: 0, gateway: 0 }
  readonly #sent = { api: 0, gateway: 0 }
  readonly #egress = new Map<string, { labels: Labels; value: number }>()
  readonly #freed = { collections: 0, roots: 0, blocks: 0, bytes: 0 }
  readonly #process = new ProcessMetrics()
  /** Traces finished work, such as by `openTelemetry` of `holdfast/opentelemetry`. Set it before the engine starts. */
  finished: Metrics['finished']
  #failedLogins = 0

  /** Counts a request. Called by the engine. */
  request({ surface, method, route, status, code, source, bytesIn, ms }: RequestObservation): void {
    const place = { surface, method, route: route ?? 'none' }
    count(this.#requests, { ...place, status: String(status), source: source ?? 'none' })
    if (code !== null) count(this.#refusals, { surface, code })
    if (route !== null && LOGINS.test(route) && WRONG_LOGINS.has(code)) this.#failedLogins += 1
    this.#received[surface] += bytesIn
    this.#time(place, ms / 1_000)
  }

  /** Counts a garbage collection. Called by the engine. */
  collected({ roots, blocks, bytes }: Collected): void {
    this.#freed.collections += 1
    this.#freed.roots += roots
    this.#freed.blocks += blocks
    this.#freed.bytes += bytes
  }

  /** Counts the gateway's bytes by domain, and by whether they count for an account. Called by the engine. */
  egress({ domain, ...outcomes }: { domain: string; counted: number; uncounted: number }): void {
    for (const [outcome, bytes] of Object.entries(outcomes)) count(this.#egress, { domain, outcome }, bytes)
  }

  /** Counts sent bytes of response bodies. Called by the handler. */
  sent(surface: 'api' | 'gateway', bytes: number): void {
    this.#sent[surface] += bytes
  }

  /** Counts a stall. Called by {@link watchLoop}. */
  stalled(stall: Stall): void {
    this.#process.stalled(stall)
  }

  /** Returns all metrics in the text format of Prometheus. Those of the engine need `stats`. */
  text(stats?: EngineStats, options: MetricsOptions = {}): string {
    return expositionOf(this.families(stats, options))
  }

  /** Returns the metrics as objects for the registry of a host program. */
  families(stats?: EngineStats, options: MetricsOptions = {}): MetricFamily[] {
    checkFields(options, METRICS, 'families')
    const { process = true, memory } = options
    const out = new Families()
    out.gauge('holdfast_info', 'Version of the server.', [{ labels: { version: VERSION }, value: 1 }])
    this.#writeTraffic(out)
    const { collections, roots, blocks, bytes } = this.#freed
    out.counter('holdfast_collections_total', 'Finished garbage collections.', single(collections))
    out.counter('holdfast_collected_roots_total', 'DAGs released.', single(roots))
    out.counter('holdfast_collected_blocks_total', 'Blocks deleted.', single(blocks))
    out.counter('holdfast_collected_bytes_total', 'Bytes freed.', single(bytes))
    if (stats !== undefined) writeStats(out, stats)
    if (memory !== undefined) {
      out.gauge('holdfast_answer_memory_bytes', 'Blocks on their way to clients.', single(memory.used))
      out.gauge('holdfast_answer_memory_limit_bytes', 'Limit of their bytes.', single(memory.limit))
    }
    this.#process.writeStalls(out)
    if (process) this.#process.write(out)
    return out.all
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

  #writeTraffic(out: Families): void {
    out.counter('holdfast_requests_total', 'Requests answered.', [...this.#requests.values()])
    out.counter('holdfast_refusals_total', 'Requests refused, by the code of the error.', [...this.#refusals.values()])
    const failed = 'Wrong passwords and codes at logins.'
    out.counter('holdfast_failed_logins_total', failed, single(this.#failedLogins))
    out.histogram('holdfast_request_seconds', 'Time until the answer began.', BUCKETS, [...this.#timings.values()])
    const surfaces = ({ api, gateway }: { api: number; gateway: number }): Sample[] => [
      { labels: { surface: 'api' }, value: api },
      { labels: { surface: 'gateway' }, value: gateway },
    ]
    out.counter('holdfast_received_bytes_total', 'Body bytes read.', surfaces(this.#received))
    out.counter('holdfast_sent_bytes_total', 'Body bytes sent.', surfaces(this.#sent))
    const counted = 'Body bytes of the gateway, by whether they count for an account.'
    out.counter('holdfast_gateway_bytes_total', counted, [...this.#egress.values()])
  }
}

function count(counts: Map<string, { labels: Labels; value: number }>, labels: Labels, by = 1): void {
  const key = Object.values(labels).join(' ')
  const counted = counts.get(key) ?? { labels, value: 0 }
  counted.value += by
  counts.set(key, counted)
}
