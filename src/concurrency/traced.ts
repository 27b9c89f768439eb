import type { Clock } from '../domain/clock.ts'
import { isHoldfastError } from '../domain/errors.ts'
import type { FinishedWork, Metrics } from '../domain/metrics.ts'
import { currentRequest } from './work.ts'

export interface Tracing {
  clock: Clock
  metrics?: Pick<Metrics, 'finished'> | undefined
}

/**
 * Runs work, and reports it once it has ended, as work of the current request if there is one. Without tracing, this
 * only runs the work.
 *
 * @param facts called after the work; its result is undefined if the work failed
 */
export async function traced<T>(
  kind: FinishedWork['kind'],
  { clock, metrics }: Tracing,
  run: () => Promise<T>,
  facts: (result: T | undefined) => FinishedWork['facts'],
): Promise<T> {
  const finished = metrics?.finished
  if (finished === undefined) return run()
  const trace = currentRequest()
  const startedAt = clock.now()
  const report = (code: FinishedWork['code'], result?: T): void => {
    finished({ kind, startedAt, endedAt: clock.now(), code, facts: facts(result), trace })
  }
  try {
    const result = await run()
    report(null, result)
    return result
  } catch (error) {
    report(isHoldfastError(error) ? error.code : 'INTERNAL_ERROR')
    throw error
  }
}
