import { ShareQueue } from './share-queue.ts'
import { chargeWork, currentOwner } from './work.ts'

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
  // Without unref the loop would not wait for sockets in this turn, and go through one more.
  setImmediate(() => {
    begun = null
  }).unref()
  return false
}

/**
 * Work that waits for a turn, shared by owner: the one that has used less of the loop comes first. Between two turns
 * timers and sockets have theirs.
 */
const waiting = new ShareQueue<() => void>()

/** Time after which a round of the loop starts no further work, in ms. Several small requests fit in one round. */
const ROUND_MS = 1
/** Most work started in one round. */
const ROUND_STARTS = 16

/** Start of this round, and whether it starts no more work. */
let round = { since: 0, isOver: true }
/** The work of the last turn, not yet charged. */
let served: { owner: string; since: number } | null = null
/** True while work waits. */
let isScheduled = false

/** Resolves in a later turn of the loop, after timers and sockets have had theirs. @throws the signal's reason */
export function nextTurn(signal?: AbortSignal): Promise<void> {
  round.isOver = true
  return turnOf(currentOwner(), signal)
}

/**
 * Charges the current work to an owner, and waits for the owner's turn. Returns null if the work may start at once.
 *
 * @throws the signal's reason
 */
export function firstTurn(owner: string, signal?: AbortSignal): Promise<void> | null {
  chargeWork(owner)
  return isScheduled || turnSpent() ? turnOf(owner, signal) : null
}

async function turnOf(owner: string, signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>(resolve => {
    waiting.add(owner, resolve)
    if (!isScheduled) schedule()
  })
  signal?.throwIfAborted()
}

/** Schedules a round. Node runs the microtasks of each callback before the next one, so a turn ends where one begins. */
function schedule(): void {
  isScheduled = true
  setImmediate(beginRound)
  for (let left = Math.min(waiting.size, ROUND_STARTS); left > 0; left--) setImmediate(giveTurn)
  setImmediate(endRound)
}

function beginRound(): void {
  begun = null
  round = { since: performance.now(), isOver: false }
}

function giveTurn(): void {
  const now = chargeTurn()
  if (round.isOver || now - round.since >= ROUND_MS) return
  const next = waiting.take()
  if (next === null) return
  served = { owner: next.owner, since: now }
  next.item()
}

function endRound(): void {
  chargeTurn()
  isScheduled = false
  if (waiting.size > 0) schedule()
}

/** Charges the work of the last turn to its owner. Returns the current instant. */
function chargeTurn(): number {
  const now = performance.now()
  if (served !== null) waiting.charge(served.owner, now - served.since)
  served = null
  return now
}

/** Yields the items of a source, and yields to the event loop between them when the turn is spent. */
export async function* inTurns<T>(source: Iterable<T> | AsyncIterable<T>, signal?: AbortSignal): AsyncGenerator<T> {
  for await (const item of source) {
    if (turnSpent()) await nextTurn(signal)
    yield item
  }
}
