/**
 * How long work over foreign data may hold the event loop before it gives it back, in milliseconds. Everything that
 * runs in one turn of the loop shares it, so a hundred walks side by side hold the loop no longer than one.
 */
const TURN_MS = 4

/** When the work of this turn of the loop began; null before any has asked. */
let begun: number | null = null

/**
 * Whether the loop has been held long enough. Microtasks starve timers and sockets without a trace, so whatever
 * loops over data that a stranger can inflate asks this between two steps:
 *
 * ```ts
 * if (turnSpent()) await nextTurn(signal)
 * ```
 *
 * What was decided before the wait has to be looked at again after it; no statement, transaction or claim is held
 * across it.
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

/** Who waits for a turn: each gets one of its own, in order, so that none does all of its work before the others. */
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

/** The items of a source, the loop given back between them where it has been held long enough. */
export async function* inTurns<T>(source: Iterable<T> | AsyncIterable<T>, signal?: AbortSignal): AsyncGenerator<T> {
  for await (const item of source) {
    if (turnSpent()) await nextTurn(signal)
    yield item
  }
}
