import { spawnSync } from 'node:child_process'
import { chmodSync, closeSync, existsSync, openSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { needsLinux } from '../../support/needs.ts'
import { say, scriptedServer } from '../../support/scripted-server.ts'
import { type ServedEngine, serveEngine } from '../../support/served-engine.ts'
import { runHoldfast, temporaryDirectory } from '../../support/server-process.ts'

let directory: ReturnType<typeof temporaryDirectory>
let served: ServedEngine
let env: { XDG_CONFIG_HOME: string }
let file: string

beforeAll(async () => {
  directory = temporaryDirectory()
  served = await serveEngine(join(directory.path, 'data'))
  env = { XDG_CONFIG_HOME: join(directory.path, 'configuration') }
  file = join(env.XDG_CONFIG_HOME, 'holdfast/login.json')
})
beforeEach(async () => {
  await runHoldfast(['logout'], env)
})
afterAll(async () => {
  await served[Symbol.asyncDispose]()
  directory.remove()
})

function logIn(key = served.key) {
  return runHoldfast(['login', '--api', served.url], env, `${key}\n`)
}

test('a login serves all commands until the logout', async () => {
  const base = `${served.url}/api/v3`
  const stdout = `logged in to ${base} as owner@localhost\n`
  expect(await logIn()).toEqual({ code: 0, stdout, stderr: '' })
  expect(await logIn()).toMatchObject({ code: 0 })
  expect(readdirSync(join(file, '..'))).toEqual(['login.json'])
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ api: base, key: served.key })
  expect(await runHoldfast(['ls'], env)).toEqual({ code: 0, stdout: '', stderr: '' })
  const { stdout: shown } = await runHoldfast(['whoami'], env)
  expect(shown).toBe(`server   ${base}\naccount  owner@localhost\nplan     unlimited\nkey      from ${file}\n`)
  expect(await runHoldfast(['logout'], env)).toMatchObject({ code: 0, stderr: '' })
  expect(existsSync(file)).toBe(false)
  expect(await runHoldfast(['whoami'], env)).toMatchObject({ code: 2, stderr: expect.stringContaining('log in') })
})

test('a configuration directory that cannot be written is named', async () => {
  const nowhere = { XDG_CONFIG_HOME: join(directory.path, 'a-file') }
  writeFileSync(nowhere.XDG_CONFIG_HOME, '')
  const stderr = expect.stringMatching(/^holdfast: cannot write .*a-file\/holdfast\/login.json: ENOTDIR.*\n$/)
  const input = `${served.key}\n`
  expect(await runHoldfast(['login', '--api', served.url], nowhere, input)).toMatchObject({ code: 1, stderr })
  expect(await runHoldfast(['logout'], nowhere)).toMatchObject({ code: 1, stderr })
})

test('output that cannot be written is an error in one line', needsLinux, () => {
  const full = openSync('/dev/full', 'w')
  const main = join(import.meta.dirname, '../../../adapters/cli/main.ts')
  const args = ['config', 'schema']
  const { status, stderr } = spawnSync(process.execPath, [main, ...args], { stdio: ['ignore', full, 'pipe'] })
  closeSync(full)
  expect(String(stderr)).toMatch(/^holdfast: cannot write to standard output: ENOSPC.*\n$/)
  expect(status).toBe(1)
})

test('flags and variables override a saved login', async () => {
  await logIn()
  writeFileSync(file, '{"api":"http://127.0.0.1:1/api/v3","key":"saved"}')
  expect(await runHoldfast(['whoami', '--json'], { ...env, ...served.env })).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('"key":"HOLDFAST_API_KEY"'),
  })
  const flags = ['--api', served.url, '--key', served.key]
  expect((await runHoldfast(['whoami', ...flags], env)).stdout).toMatch(/^key +from --key$/m)
})

test('a saved key never goes to another server', async () => {
  await using other = await scriptedServer(say(200, '{}'))
  await logIn()
  for (const given of [{ HOLDFAST_API: other.base }, {}]) {
    const flags = 'HOLDFAST_API' in given ? [] : ['--api', other.base]
    const finished = await runHoldfast(['whoami', ...flags], { ...env, ...given })
    expect(finished).toMatchObject({ code: 2, stderr: expect.stringContaining('the saved login is for') })
  }
  expect(other.seen).toEqual([])
})

test('a refused key is not saved', async () => {
  const refused = await logIn('x'.repeat(40))
  expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('INVALID_API_KEY') })
  expect(existsSync(file)).toBe(false)
})

test('a key among the arguments of login is refused', async () => {
  const finished = await runHoldfast(['login', '--api', served.url, '--key', served.key], env)
  expect(finished).toEqual({ code: 2, stdout: '', stderr: 'holdfast: unknown flag --key, see holdfast login --help\n' })
})

test('a login that other users may read is refused', async () => {
  await logIn()
  chmodSync(file, 0o644)
  const stderr = expect.stringMatching(/^holdfast: other users may read .*login.json: chmod 600/)
  expect(await runHoldfast(['ls'], env)).toMatchObject({ code: 2, stdout: '', stderr })
  expect(await logIn()).toMatchObject({ code: 0 })
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

test('a damaged login is named, and logging in again replaces it', async () => {
  await logIn()
  writeFileSync(file, '{')
  expect(await runHoldfast(['ls'], env)).toMatchObject({ code: 2, stderr: expect.stringContaining(file) })
  expect(await logIn()).toMatchObject({ code: 0 })
})
