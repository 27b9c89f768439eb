import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const TOOL = join(import.meta.dirname, '../../tools/option-names.ts')

test('names of options are up to date (if not: npm run docs)', { timeout: 240_000 }, async () => {
  expect((await promisify(execFile)(process.execPath, [TOOL, '--check'])).stdout).toBe('')
})
