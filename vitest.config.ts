import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/support/watch-stalls.ts'],
    reporters: ['default', './tools/closing-line.ts'],
    testTimeout: 30_000,
    // What is polled for is waited for, however busy the machine is; the test's own time bounds it.
    expect: { poll: { timeout: 25_000 } },
    hookTimeout: 30_000,
  },
})
