import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { LONG_TESTS } from './long-tests.ts'

/** Matches tests that start an engine, a network node, another process or a server. */
const STARTS =
  /\b(create(Test)?Engine|openAccounts|startNetwork|createHelia)\b|'node:(child_process|http|net)'|'express'/
const IMPORTS = /\bfrom '(\.[^']+)'|\bimport\('(\.[^']+)'\)/g

/**
 * Test files relative to the repository: `unit` tests parts, `system` starts an engine or a process, and `long` takes
 * long.
 */
export interface TestKinds {
  unit: string[]
  system: string[]
  long: string[]
}

/**
 * Classifies the tests by their imports, followed through the files of `test/`.
 *
 * @throws Error if tools/long-tests.ts names a test that does not exist
 */
export function testKinds(root: string): TestKinds {
  const known = new Map<string, boolean>()
  const startsSomething = (file: string): boolean => {
    const before = known.get(file)
    if (before !== undefined) return before
    // Ends the recursion in a cycle of imports.
    known.set(file, false)
    const text = readFileSync(join(root, file), 'utf8')
    const imported = [...text.matchAll(IMPORTS)].map(([, named, loaded]) => join(dirname(file), named ?? loaded ?? ''))
    const ofTests = imported.filter(path => path.startsWith('test') && existsSync(join(root, path)))
    const starts = STARTS.test(text) || ofTests.some(startsSomething)
    known.set(file, starts)
    return starts
  }
  const files = globSync('test/**/*.test.ts', { cwd: root })
    .map(path => path.replaceAll('\\', '/'))
    .sort()
  const long = Object.values(LONG_TESTS).flat()
  const missing = long.filter(file => !files.includes(file))
  if (missing.length > 0) throw new Error(`tools/long-tests.ts names tests that do not exist: ${missing.join(', ')}`)
  const short = files.filter(file => !long.includes(file))
  return { unit: short.filter(file => !startsSomething(file)), system: short.filter(startsSomething), long }
}
