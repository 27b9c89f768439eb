import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { testKinds } from './tools/test-kinds.ts'

const { unit, system, long } = testKinds(import.meta.dirname)
/** Time of tests with child processes, which start slowly on a busy machine. What they poll for ends before them, and says what it was. */
const patient = { testTimeout: 90_000, hookTimeout: 90_000, expect: { poll: { timeout: 80_000 } } }

export default defineConfig({
  test: {
    globalSetup: ['test/support/shared-server.ts'],
    setupFiles: ['test/support/watch-stalls.ts'],
    reporters: ['default', './tools/closing-line.ts'],
    // Many tests wait for processes and disks, so even two cores take two at a time.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // Of tests that only wait, and say that they may wait together.
    maxConcurrency: 8,
    testTimeout: 30_000,
    // What is polled for is waited for, however busy the machine is; the test's own time bounds it.
    expect: { poll: { timeout: 25_000 } },
    hookTimeout: 30_000,
    projects: [
      // Modules keep no state between tests, so the files of one worker share them and load them once.
      { extends: true, test: { name: 'unit', include: unit, isolate: false } },
      { extends: true, test: { name: 'system', include: system, isolate: false, ...patient } },
      { extends: true, test: { name: 'long', include: long, ...patient } },
    ],
  },
})
