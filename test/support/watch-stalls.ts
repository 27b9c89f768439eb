/**
 * A setup file of the tests: the loop of every audit, model and property test is watched, and a test that holds it far
 * longer than is usual fails. Abuse and fuzz tests have their servers watched in their own processes.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { StallWatch } from './stall-watch.ts'

/**
 * Far above what is usual, tens of milliseconds, because two busy cores are shared by everything that the tests run.
 * It is the one timed bound of the tests.
 */
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
