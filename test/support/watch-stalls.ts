/**
 * A test of audits, models or properties fails if it blocks the event loop far too long. Abuse and fuzz tests watch the
 * loops of their servers, in the servers' processes.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { StallWatch } from './stall-watch.ts'

/** Usual stalls take tens of milliseconds. The bound is far higher because all tests share two busy cores. */
const LONGEST_STALL_MS = 2_000
const WATCHED = /\/(car|gateway)\/|(audits|property|model|exchange|multipart)\.test\.ts$/

if (WATCHED.test(expect.getState().testPath ?? '')) {
  let watch: StallWatch

  beforeAll(async () => {
    watch = await StallWatch.start()
  })

  beforeEach(() => watch.reset())

  afterEach(() => {
    expect(watch.longestMs, 'the event loop stood still, in milliseconds').toBeLessThan(LONGEST_STALL_MS)
  })

  afterAll(() => watch[Symbol.asyncDispose]())
}
