import { errorResponse } from '../../http/error-response.ts'

/** Long work that tells how far it is, and ends once its signal is aborted. */
export type ReportingWork<Progress, Outcome> = (
  report: (progress: Progress) => void,
  signal: AbortSignal,
) => Promise<Outcome>

/**
 * Long work as lines of JSON: how far it is, as often as the reader keeps up, then `{"done": true}` with the outcome.
 * Work that fails ends with the body of its error instead. It goes on only as long as somebody reads.
 */
export async function* progressLines<Progress extends object, Outcome extends object>(
  requestId: string,
  work: ReportingWork<Progress, Outcome>,
): AsyncGenerator<Uint8Array, void> {
  const unread = new AbortController()
  const state: { latest: object; isLast: boolean } = { latest: {}, isLast: false }
  let news = Promise.withResolvers<void>()
  const tell = (latest: object, isLast: boolean): void => {
    Object.assign(state, { latest, isLast })
    news.resolve()
  }
  work(progress => tell(progress, false), unread.signal).then(
    outcome => tell({ done: true, ...outcome }, true),
    error => tell(JSON.parse(String(errorResponse(error, requestId).body)), true),
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
