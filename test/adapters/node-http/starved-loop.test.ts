import { execFile, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { needs } from '../../support/needs.ts'

const STARVED = join(import.meta.dirname, '../../support/starved-child.ts')
const canPin = process.platform === 'linux' && spawnSync('taskset', ['-c', '0', 'true']).status === 0

test('the watch ignores waits for a processor', {
  ...needs(canPin, 'there is no taskset'),
  timeout: 150_000,
}, async () => {
  const { stdout } = await promisify(execFile)('taskset', ['-c', '0', process.execPath, STARVED], { timeout: 120_000 })
  const { longest } = JSON.parse(stdout) as { longest: number }
  expect(longest).toBeGreaterThan(200)
})
