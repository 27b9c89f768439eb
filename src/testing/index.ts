/** Engines for the tests of programs that embed Holdfast. */

export { type SettledOptions, settled } from './settled.ts'
export { TestClock } from './test-clock.ts'
export { createTestEngine, type TestEngine, type TestEngineOptions } from './test-engine.ts'
