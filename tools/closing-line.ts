import type { Reporter, TestModule } from 'vitest/node'

/** Ends a test run with one plain line, `N passed, N failed[, N skipped]`, that a script can read. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>, errors: ReadonlyArray<unknown>): void {
    const counts = { passed: 0, failed: errors.length, skipped: 0 }
    for (const module of modules) {
      counts.failed += module.errors().length
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === 'passed') counts.passed++
        else if (state === 'failed') counts.failed++
        else counts.skipped++
      }
    }
    const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''
    process.once('exit', () => process.stdout.write(`${counts.passed} passed, ${counts.failed} failed${skipped}\n`))
  }
}
