import { WithStatements } from '../../storage/with-statements.ts'
import type { RecordSearch } from '../records.ts'

/** Maximum time by which a record may be older than its predecessor in the same run of a list. */
export const CLOCK_JITTER_MS = 1_000

/** A range of search ids, including both ends. */
export interface Span {
  first: number
  last: number
}

/** `isSure` is true if all records in the range were created within the time bounds of a search. */
export interface TimedSpan extends Span {
  isSure: boolean
}

/**
 * Finds the ranges of a list whose records were created between two instants.
 * A list is in the order of the commits. A new run begins where the clock was set back. Within a run the creation times
 * rise, apart from differences up to {@link CLOCK_JITTER_MS}.
 */
export class ListOrder extends WithStatements {
  readonly #runs = this.db.prepare<[string], { first: number }>(`
    SELECT first FROM search_runs WHERE account_id = ? ORDER BY first`)
  readonly #next = this.db.prepare<[number, number], { id: number; createdAt: number }>(`
    SELECT search_id AS id, created_at AS createdAt FROM records INDEXED BY records_by_search
    WHERE search_id BETWEEN ? AND ? ORDER BY search_id LIMIT 1`)

  spans(accountId: string, { before, after }: Pick<RecordSearch, 'before' | 'after'>, whole: Span): TimedSpan[] {
    if (before === null && after === null) return [{ ...whole, isSure: true }]
    const starts = [whole.first, ...this.#runs.all(accountId).map(({ first }) => first)]
    const spans = starts.flatMap((first, i) => {
      const run = { first, last: (starts[i + 1] ?? whole.last + 1) - 1 }
      const maybe = this.#between(run, after, before, CLOCK_JITTER_MS)
      const sure = this.#between(maybe, after, before, -CLOCK_JITTER_MS)
      if (sure.first > sure.last) return [{ ...maybe, isSure: false }].filter(isNotEmpty)
      return [
        { first: maybe.first, last: sure.first - 1, isSure: false },
        { ...sure, isSure: true },
        { first: sure.last + 1, last: maybe.last, isSure: false },
      ].filter(isNotEmpty)
    })
    return joined(spans)
  }

  /** Returns the part of a run between two instants, extended at both ends by `margin` milliseconds. */
  #between(run: Span, after: number | null, before: number | null, margin: number): Span {
    return {
      first: after === null ? run.first : this.#firstSince(after + 1 - margin, run),
      last: before === null ? run.last : this.#firstSince(before + margin, run) - 1,
    }
  }

  /** Returns a search id whose record was created at `instant` or later, and whose predecessor was created earlier. */
  #firstSince(instant: number, { first, last }: Span): number {
    let [low, high] = [first, last + 1]
    while (low < high) {
      const middle = low + Math.floor((high - low) / 2)
      const record = this.#next.get(middle, high - 1)
      if (record === undefined || record.createdAt >= instant) high = middle
      else low = record.id + 1
    }
    return low
  }
}

/** Joins the ends of two runs, so that the block where one of them begins can be counted as a whole. */
function joined(spans: readonly TimedSpan[]): TimedSpan[] {
  const all: TimedSpan[] = []
  for (const span of spans) {
    const before = all.at(-1)
    if (before?.isSure === span.isSure && before.last + 1 === span.first) before.last = span.last
    else all.push({ ...span })
  }
  return all
}

function isNotEmpty({ first, last }: Span): boolean {
  return first <= last
}
