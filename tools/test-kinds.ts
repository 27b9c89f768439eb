import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { LONG_TESTS } from './long-tests.ts'

/** What starts a whole engine or network node, opens a data directory, or runs another process or server. */
const STARTS = /\b(createEngine|openAccounts|startNetwork|createHelia)\b|'node:(child_process|http|net)'|'express'/
const IMPORTS = /\bfrom '(\.[^']+)'|\bimport\('(\.[^']+)'\)/g

/**
 * The files of tests, relative to the repository: of parts (`unit`), of the whole by what starts it (`system`), and those
 * of either that take long (`long`).
 */
export interface TestKinds {
  unit: string[]
  system: string[]
  long: string[]
}

/**
 * Sorts the tests by what they import, and what that imports of the tests.
 *
 * @throws Error if a test that is named as long does not exist
 */
export function testKinds(root: string): TestKinds {
  const known = new Map<string, boolean>()
  const startsSomething = (file: string): boolean => {
    const before = known.get(file)
    if (before !== undefined) return before
    // A circle of imports starts nothing by itself.
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
