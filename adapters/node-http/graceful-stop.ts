import type { Server } from 'node:http'
import { type Clock, systemClock } from '../../src/domain/clock.ts'
import { checkFields } from '../../src/domain/known-fields.ts'
import type { Engine } from '../../src/index.ts'
import { drain } from './drain.ts'
import { GRACEFUL_STOP } from './http-options.ts'
import { answersEnded } from './open-answers.ts'
import type { Readers } from './readers.ts'

/** Least time in ms for answers that began during the drain. */
const LAST_MS = 10_000

/** Servers of an engine, and the time for their answers. */
export interface GracefulStop {
  /** From `createServer`. */
  server: Server
  /** From `startReaders`. */
  readers?: Readers | null
  /** Longest time in ms for the answers that are open at the beginning. Answers that begin later get ten seconds more. */
  drainMs: number
  /** Default: the clock of the system. */
  clock?: Clock
}

/**
 * Ends the servers of an engine without cutting off answers. Stop the engine afterwards.
 *
 * 1. `/ready` is 503. Load balancers and other nodes get time to notice, if there are any.
 * 2. The ports take requests until the answers that are open now have ended, those of other nodes that read from this
 *    one included. Some proxies cut off the answers of a port that is closed.
 * 3. The ports close, and the last answers end.
 * @example await stopGracefully(engine, { server, readers, drainMs: 60_000 })
 */
export async function stopGracefully(
  engine: Pick<Engine, 'announceStop' | 'readsEnded'>,
  options: GracefulStop,
): Promise<void> {
  checkFields(options, GRACEFUL_STOP, 'stopGracefully')
  const { server, readers = null, drainMs, clock = systemClock } = options
  const end = clock.now() + drainMs
  await engine.announceStop({ noticeMs: drainMs / 2 })
  await until(clock, end, signal =>
    Promise.all([answersEnded(server), readers?.answersEnded(), engine.readsEnded({ signal })]),
  )
  const last = Math.max(end, clock.now() + LAST_MS)
  await Promise.all([
    readers?.stop(last - clock.now()),
    until(clock, last, signal => engine.readsEnded({ isLast: true, signal })),
  ])
  await drain(server, Math.max(0, last - clock.now()), clock)
}

/** Waits for work, but only until the instant `end`, when it aborts the signal. */
async function until(clock: Clock, end: number, work: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
  if (clock.now() >= end) return
  const late = new AbortController()
  const { promise, resolve } = Promise.withResolvers<void>()
  const cancel = clock.after(end - clock.now(), () => {
    late.abort()
    resolve()
  })
  await Promise.race([work(late.signal), promise])
  cancel()
}
