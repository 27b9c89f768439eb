import type { Reporter, TestCase, TestModule } from 'vitest/node'

/** A run of more files counts as complete. */
const FEW = 100

/**
 * Ends a test run with the failed tests and their first messages, the skipped tests and their reasons, and one line for
 * scripts: `N passed, N failed[, N skipped]`.
 */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>, errors: ReadonlyArray<unknown>): void {
    const counts = { passed: 0, failed: errors.length, skipped: 0 }
    const failures = errors.map(error => failureOf('the run', error))
    const notRun = new Map<string, { tests: number; files: Set<string> }>()
    for (const module of modules) {
      counts.failed += module.errors().length
      failures.push(...module.errors().map(error => failureOf(module.relativeModuleId, error)))
      for (const test of module.children.allTests()) {
        const { state, errors: causes } = test.result()
        if (state === 'passed') counts.passed++
        else if (state === 'failed') counts.failed++
        else counts.skipped++
        if (state === 'failed') failures.push(failureOf(`${module.relativeModuleId} > ${test.fullName}`, causes[0]))
        const reason = state === 'skipped' ? reasonOf(test) : undefined
        if (reason === undefined) continue
        const those = notRun.get(reason) ?? { tests: 0, files: new Set() }
        notRun.set(reason, { tests: those.tests + 1, files: those.files.add(module.relativeModuleId) })
      }
    }
    const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''
    const reasons = [...notRun].map(
      ([reason, { tests, files }]) => `not run: ${tests} of ${[...files].join(', ')}: ${reason}\n`,
    )
    const isAll = modules.some(({ project }) => project.name === 'long')
    if (!isAll && modules.length > FEW) reasons.push('not run: long tests; npm run test:all includes them\n')
    const closing = `${counts.passed} passed, ${counts.failed} failed${skipped}\n`
    process.once('exit', () => process.stdout.write([...failures, ...reasons, closing].join('')))
  }
}

function failureOf(place: string, error: unknown): string {
  const message = (error as { message?: unknown } | undefined)?.message ?? error
  return `failed: ${place}: ${String(message).split('\n', 1)[0]}\n`
}

function reasonOf(test: TestCase): string | undefined {
  let task: TestCase | TestCase['parent'] = test
  while (task.type !== 'module') {
    const { notRun } = task.meta() as { notRun?: string }
    if (notRun !== undefined) return notRun
    task = task.parent
  }
  return undefined
}
