import { ShareQueue } from './capacity/share-queue.ts'
import { chargeWork, currentOwner } from './work.ts'

/**
 * Maximum time in ms that work on foreign data may hold the event loop. All work in one turn of the loop shares this
 * time: a hundred concurrent walks hold the loop no longer than one.
 */
const TURN_MS = 4

/** Number of requests that have asked for their first turn. */
let arrived = 0

/** Null before any work has started in this turn. */
let begun: number | null = null

/** Returns real time in ms, for how long work holds the event loop. Only differences mean anything. */
export function loopTime(): number {
  return performance.now()
}

/**
 * Returns whether work has held the event loop for too long. Microtasks can starve timers and sockets without a trace.
 * Call this function in every loop over data that a stranger can inflate:
 *
 * ```ts
 * if (turnSpent()) await nextTurn(signal)
 * ```
 *
 * After the wait, check decisions from before the wait again. Do not hold a statement, transaction or claim during the
 * wait.
 */
export function turnSpent(): boolean {
  if (isAccepting()) return true
  const now = loopTime()
  if (begun !== null) return now - begun >= TURN_MS
  begun = now
  // Without `unref`, the loop would not wait for sockets in this turn and would run one more turn.
  setImmediate(() => {
    begun = null
  }).unref()
  return false
}

/**
 * Work that waits for a turn, by owner. The owner that has used the loop the least comes first. Timers and sockets run
 * between two turns.
 */
const waiting = new ShareQueue<() => void>()

/** Ms after which a round of the loop starts no more work. Several small requests fit into one round. */
const ROUND_MS = 1
const ROUND_STARTS = 16

/** `isOver` is true if the round starts no more work. */
let round = { since: 0, isOver: true }
/** The work of the last turn, not yet charged to its owner. */
let served: { owner: string; since: number } | null = null
let isScheduled = false

/** Number of waiting tasks from which accepting connections comes first. */
const CROWD = 4
/**
 * Maximum number of rounds for which accepting connections delays the waiting tasks. Rounds and not time, because a
 * process that waits for a processor would otherwise start tasks in every round, and accept one connection in each.
 */
const ACCEPT_ROUNDS = 32
/** True if this round of the loop, or the round before, has accepted a connection. */
let accepted = { now: false, before: false }
/** Number of rounds since the last one that started work. */
let delayed = 0

/**
 * Notes that this round of the loop has accepted a connection. Node accepts one connection per round. If a crowd of
 * tasks waits, the next rounds are kept short until all connections are accepted. Otherwise a client would wait for as
 * many full rounds as another client has opened connections.
 */
export function noteConnection(): void {
  accepted.now = true
}

function isAccepting(): boolean {
  return (accepted.now || accepted.before) && waiting.size >= CROWD
}

/** Resolves after timers and sockets have had their turn. @throws the reason of the signal */
export function nextTurn(signal?: AbortSignal): Promise<void> {
  round.isOver = true
  return turnOf(currentOwner(), signal)
}

/**
 * Charges the current work to an owner, and waits for the owner's turn. Returns null if the work may start immediately.
 * @throws the reason of the signal
 */
export function firstTurn(owner: string, signal?: AbortSignal): Promise<void> | null {
  arrived++
  chargeWork(owner)
  return mustWait() ? turnOf(owner, signal) : null
}

/**
 * Returns a number that each request changes when it arrives. While the number is the same, requests may share what one
 * of them has read: it is newer than all of them.
 */
export function requestsArrived(): number {
  return arrived
}

/** Waits like {@link firstTurn} for the owner of the current work. @throws the reason of the signal */
export async function sharedTurn(signal?: AbortSignal): Promise<void> {
  if (mustWait()) await turnOf(currentOwner(), signal)
}

function mustWait(): boolean {
  return isScheduled || turnSpent()
}

async function turnOf(owner: string, signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>(resolve => {
    waiting.add(owner, resolve)
    if (!isScheduled) schedule()
  })
  signal?.throwIfAborted()
}

/** Schedules a round. Node.js runs all microtasks after a callback, so each turn ends before the next one. */
function schedule(): void {
  isScheduled = true
  setImmediate(beginRound)
  for (let left = Math.min(waiting.size, ROUND_STARTS); left > 0; left--) setImmediate(giveTurn)
  setImmediate(endRound)
}

function beginRound(): void {
  begun = null
  const since = loopTime()
  round = { since, isOver: isAccepting() && delayed < ACCEPT_ROUNDS }
  accepted = { now: false, before: accepted.now }
  delayed = round.isOver ? delayed + 1 : 0
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

/** Ends the running turn, and charges its time to its owner. Returns the current time in ms. */
function chargeTurn(): number {
  const now = loopTime()
  if (served !== null) waiting.charge(served.owner, now - served.since)
  served = null
  return now
}

/** Yields to the event loop before an item if the turn is spent. */
export async function* inTurns<T>(source: Iterable<T> | AsyncIterable<T>, signal?: AbortSignal): AsyncGenerator<T> {
  for await (const item of source) {
    if (turnSpent()) await nextTurn(signal)
    yield item
  }
}
