import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { promises } from './promises.ts'

const ROOT = join(import.meta.dirname, '..')

/** `npm run mutations` breaks each promise and runs its test; here only that it still could. */
describe('the list of promises', () => {
  test.each(promises)('$promise: what keeps it is there once', kept => {
    const text = readFileSync(join(ROOT, kept.file), 'utf8')
    expect(text.split(kept.find).length - 1, `${kept.file}: ${kept.find}`).toBe(1)
    expect(existsSync(join(ROOT, kept.test.file)), kept.test.file).toBe(true)
  })
})
