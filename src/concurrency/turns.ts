/**
 * Longest that work on foreign data may hold the event loop, in milliseconds. All work in one turn of the loop shares
 * it, so a hundred walks side by side hold the loop no longer than one.
 */
const TURN_MS = 4

/** Start of the work in this turn of the loop; null before the first. */
let begun: number | null = null

/**
 * Checks whether work has held the event loop long enough. Microtasks starve timers and sockets without a trace, so
 * every loop over data that a stranger can inflate asks between two steps:
 *
 * ```ts
 * if (turnSpent()) await nextTurn(signal)
 * ```
 *
 * Decisions from before the wait must be checked again after it. Hold no statement, transaction or claim across it.
 */
export function turnSpent(): boolean {
  const now = performance.now()
  if (begun !== null) return now - begun >= TURN_MS
  begun = now
  setImmediate(() => {
    begun = null
  })
  return false
}

/** Work that waits for a turn. Each gets its own, in order, so that none finishes before the others start. */
const waiting: Array<() => void> = []

/** Resolves in a later turn of the loop, after timers and sockets have had theirs. @throws the signal's reason */
export async function nextTurn(signal?: AbortSignal): Promise<void> {
  await new Promise<void>(resolve => {
    if (waiting.push(resolve) === 1) setImmediate(giveTurn)
  })
  signal?.throwIfAborted()
}

function giveTurn(): void {
  begun = null
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(giveTurn)
}

/** Yields the items of a source, and yields to the event loop between them when the turn is spent. */
export async function* inTurns<T>(source: Iterable<T> | AsyncIterable<T>, signal?: AbortSignal): AsyncGenerator<T> {
  for await (const item of source) {
    if (turnSpent()) await nextTurn(signal)
    yield item
  }
}
