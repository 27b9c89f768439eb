import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { needsPosix } from '../../support/needs.ts'
import { runHoldfast, temporaryDirectory } from '../../support/server-process.ts'

/** Several processes, one after the other. */
const LONG_MS = 90_000

let directory: ReturnType<typeof temporaryDirectory>
let dataDir: string
let cache: string

beforeEach(() => {
  directory = temporaryDirectory()
  dataDir = join(directory.path, 'data')
  cache = join(dataDir, 'cache')
  mkdirSync(dataDir)
})
afterEach(() => directory.remove())

/** The cache is saved before the invalid configuration ends these commands. */
async function run(command: string): Promise<void> {
  const env = { NODE_COMPILE_CACHE: '', HOLDFAST_DATA_DIR: dataDir }
  const { code } = await runHoldfast([command, '--config', '/nowhere/config.json'], env)
  expect(code).toBe(2)
}

test(
  'compiled code is cached only for the server, in its data directory',
  async () => {
    await run('serve')
    expect(existsSync(cache)).toBe(false)
    writeFileSync(join(dataDir, 'holdfast.db'), '')
    await run('stats')
    expect(existsSync(cache)).toBe(false)
    await run('serve')
    if (process.platform !== 'win32') expect(statSync(cache).mode & 0o777).toBe(0o700)
    expect(readdirSync(cache)).not.toEqual([])
  },
  LONG_MS,
)

test('threads read the same cache', { timeout: LONG_MS }, async () => {
  writeFileSync(join(dataDir, 'holdfast.db'), '')
  const told = "process.on('exit', () => console.error('cache: ' + process.env.NODE_COMPILE_CACHE))"
  const env = { HOLDFAST_DATA_DIR: dataDir, NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(told)}` }
  const serve = (more = {}) => runHoldfast(['serve', '--config', '/nowhere/config.json'], { ...env, ...more })
  expect((await serve({ NODE_COMPILE_CACHE: '' })).stderr).toContain(`cache: ${cache}\n`)
  expect((await serve({ NODE_COMPILE_CACHE: directory.path })).stderr).toContain(`cache: ${directory.path}\n`)
})

test('no code runs from a directory that others can write', { ...needsPosix, timeout: LONG_MS }, async () => {
  writeFileSync(join(dataDir, 'holdfast.db'), '')
  mkdirSync(cache)
  chmodSync(cache, 0o777)
  await run('serve')
  expect(readdirSync(cache)).toEqual([])
  chmodSync(cache, 0o700)
  await run('serve')
  expect(readdirSync(cache)).not.toEqual([])

  const elsewhere = join(directory.path, 'elsewhere')
  const linked = join(directory.path, 'linked')
  mkdirSync(elsewhere, { mode: 0o700 })
  mkdirSync(linked)
  writeFileSync(join(linked, 'holdfast.db'), '')
  symlinkSync(elsewhere, join(linked, 'cache'))
  dataDir = linked
  await run('serve')
  expect(readdirSync(elsewhere)).toEqual([])
})
