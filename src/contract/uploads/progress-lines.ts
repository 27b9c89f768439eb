import { errorResponse } from '../../http/error-response.ts'

/** A long-running function that reports progress and stops when its signal aborts. */
export type ReportingWork<Progress, Outcome> = (
  report: (progress: Progress) => void,
  signal: AbortSignal,
) => Promise<Outcome>

/**
 * Yields lines of JSON. The last line is `{"done": true}` with the outcome, or the error body. A slow reader gets only
 * the latest progress. If the reader stops, the work is aborted.
 */
export async function* progressLines<Progress extends object, Outcome extends object>(
  requestId: string,
  work: ReportingWork<Progress, Outcome>,
): AsyncGenerator<Uint8Array, void> {
  const unread = new AbortController()
  const state: { latest: object; isLast: boolean } = { latest: {}, isLast: false }
  let news = Promise.withResolvers<void>()
  const report = (latest: object, isLast: boolean): void => {
    Object.assign(state, { latest, isLast })
    news.resolve()
  }
  work(progress => report(progress, false), unread.signal).then(
    outcome => report({ done: true, ...outcome }, true),
    error => report(JSON.parse(String(errorResponse(error, requestId).body)), true),
  )
  try {
    for (;;) {
      await news.promise
      news = Promise.withResolvers()
      const { latest, isLast } = state
      yield Buffer.from(`${JSON.stringify(latest)}\n`)
      if (isLast) return
    }
  } finally {
    unread.abort()
  }
}
