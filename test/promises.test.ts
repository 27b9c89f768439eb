import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { promises } from './promises.ts'

const ROOT = join(import.meta.dirname, '..')

/** `npm run mutations` breaks each promise and runs its test. This test only checks that it still can. */
describe('the list of promises', () => {
  test.each(promises)('$promise: its code occurs exactly once', kept => {
    const text = readFileSync(join(ROOT, kept.file), 'utf8')
    expect(text.split(kept.find).length - 1, `${kept.file}: ${kept.find}`).toBe(1)
    expect(existsSync(join(ROOT, kept.test.file)), kept.test.file).toBe(true)
  })
})
