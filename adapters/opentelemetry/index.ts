import { HoldfastError } from '../../src/domain/errors.ts'
import type { Metrics } from '../../src/index.ts'

export type { FinishedWork } from '../../src/index.ts'

/**
 * Returns the field `finished` of the metrics, which makes a span of each finished work: `metrics.finished = await
 * openTelemetry()`. Needs the package `@opentelemetry/api`. The program registers an SDK, which exports the spans.
 *
 * @throws HoldfastError `CONFIG_INVALID` without the package
 * @example const metrics = Object.assign(new PrometheusMetrics(), { finished: await openTelemetry() })
 */
export async function openTelemetry(): Promise<NonNullable<Metrics['finished']>> {
  const { spanMaker } = await import('./spans.ts').catch((cause: unknown) => {
    const remedy = 'run npm install @opentelemetry/api'
    throw new HoldfastError('CONFIG_INVALID', `tracing needs the package @opentelemetry/api; ${remedy}`, { cause })
  })
  return spanMaker()
}
