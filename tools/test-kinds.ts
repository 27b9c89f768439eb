import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** What starts a whole engine or network node, opens a data directory, or runs another process or server. */
const STARTS = /\b(createEngine|openAccounts|startNetwork|createHelia)\b|'node:(child_process|http|net)'|'express'/
const IMPORTS = /\bfrom '(\.[^']+)'|\bimport\('(\.[^']+)'\)/g

/** The files of tests, relative to the repository: of parts (`unit`), and of the whole by what starts it (`system`). */
export interface TestKinds {
  unit: string[]
  system: string[]
}

/** Tells the tests apart by what they import, and what that imports of the tests. */
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
  return { unit: files.filter(file => !startsSomething(file)), system: files.filter(startsSomething) }
}
