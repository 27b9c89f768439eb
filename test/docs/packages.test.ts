import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
/** Each row's package, and the files that the table names for it. */
const rows = [...read('docs/design/packages.md').matchAll(/^\| `([^`]+)` \| ([^|]+) \|/gm)].map(
  ([, name = '', where = '']) => [name, [...where.matchAll(/`([\w./-]+\.ts)`/g)].map(([, file = '']) => file)] as const,
)

describe('the table of packages', () => {
  test('names only dependencies of the project', () => {
    const { dependencies, devDependencies } = JSON.parse(read('package.json'))
    expect(rows.length).toBe(12)
    for (const [name] of rows) expect({ ...dependencies, ...devDependencies }).toHaveProperty([name])
  })

  test.each(rows)('%s is imported by each file named for it', (name, files) => {
    expect(files.length).toBeGreaterThan(0)
    const imports = new RegExp(`from '${name}(/[\\w./-]+)?'`)
    expect(files.filter(file => !imports.test(read(file)))).toEqual([])
  })
})
