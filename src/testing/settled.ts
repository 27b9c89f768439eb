import { keepAlive, systemClock } from '../domain/clock.ts'
import { BACKGROUND, type Background } from '../engine.ts'
import type { Engine } from '../index.ts'
import { TestClock } from './test-clock.ts'

/** Options of {@link settled}. */
export interface SettledOptions {
  /** Longest wait, in ms of real time. Default: 60,000. */
  withinMs?: number
}

/** Consecutive looks that must find nothing: the end of one work may begin another. */
const QUIET_LOOKS = 2
const LOOK_EVERY_MS = 5

/**
 * Waits until no background work of an engine runs or is due: jobs, features, expiry, collection, writes. Name all nodes
 * that share a catalogue to wait also for the work that they leave to each other. Timers fire if they are due by the
 * clock of the engine. Work that waits for a later time or a retry counts as settled.
 *
 * @throws Error that names what still runs or is due
 * @example await settled(engine)
 */
export async function settled(
  engines: Engine | readonly Engine[],
  { withinMs = 60_000 }: SettledOptions = {},
): Promise<void> {
  const works = [engines].flat().map(backgroundOf)
  const end = systemClock.now() + withinMs
  const release = keepAlive()
  try {
    for (let quiet = 0; ; ) {
      const names = await look(works)
      quiet = names.length === 0 ? quiet + 1 : 0
      if (quiet === QUIET_LOOKS) return
      if (systemClock.now() >= end) throw new Error(`not settled after ${withinMs} ms: ${names.join(', ')}`)
      await new Promise<void>(resolve => systemClock.after(LOOK_EVERY_MS, resolve))
    }
  } finally {
    release()
  }
}

/** Fires the timers that are due, then returns the names of the work that runs or is due. */
async function look(works: readonly Background[]): Promise<string[]> {
  for (const { clock } of works) if (clock instanceof TestClock) clock.advance(0)
  const found = works.map(async ({ node, ...work }) => {
    return (await work.unsettled()).map(name => (node === undefined ? name : `${name} of ${node}`))
  })
  return (await Promise.all(found)).flat()
}

function backgroundOf(engine: Engine & { [BACKGROUND]?: Background }): Background {
  const background = engine[BACKGROUND]
  if (background === undefined) throw new TypeError('settled needs engines of createEngine or createTestEngine')
  return background
}
