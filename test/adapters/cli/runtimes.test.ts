import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const MAIN = join(import.meta.dirname, '../../../adapters/cli/main.ts')

/** Runs the command line where `process.versions` has other values. */
function runUnder(versions: Record<string, string>): { status: number | null; stderr: string } {
  const change = `Object.defineProperty(process, 'versions', { value: { ...process.versions, ...${JSON.stringify(versions)} } })`
  const flags = ['--import', `data:text/javascript,${encodeURIComponent(change)}`]
  return spawnSync(process.execPath, [...flags, MAIN, '--version'], { encoding: 'utf8' })
}

test.each([
  [{ bun: '1.4.5' }, 'Bun'],
  [{ deno: '2.9.6' }, 'Deno'],
  [{ node: '22.18.0' }, '22.18.0'],
])('the command line refuses a runtime with %o', (versions, named) => {
  const { status, stderr } = runUnder(versions)
  expect(status).toBe(1)
  expect(stderr).toMatch(/^holdfast: .*Node\.js 22\.19 or newer/)
  expect(stderr.trim()).toMatch(new RegExp(`this is ${named}$`))
})
