/** Engines for the tests of programs that embed Holdfast. */

export { TestClock } from './test-clock.ts'
export { createTestEngine, type TestEngine, type TestEngineOptions } from './test-engine.ts'
