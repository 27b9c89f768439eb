import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { base32upper } from 'multiformats/bases/base32'
import { afterEach, expect, test } from 'vitest'
import { totpCode, totpStep } from '../../src/access/sign-in/totp.ts'
import { migrations } from '../../src/storage/migrations.ts'
import { killAtEveryStep } from '../support/killed-migration.ts'
import { killStarts } from '../support/killed-starts.ts'
import { needs } from '../support/needs.ts'
import { hasSource, numberedLines, OLD_SOURCES, unpackSource, wayBack } from '../support/old-source.ts'
import { type Env, runHoldfast, ServerProcess } from '../support/server-process.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { unpack } from '../support/unpack.ts'
import old from './fixtures/data-0.2.0.json' with { type: 'json' }

const ARCHIVE = join(import.meta.dirname, 'fixtures', 'data-0.2.0.tar.gz')
const SOURCE = OLD_SOURCES['0.2.0']
/** Version of the schema of 0.2.0. */
const SCHEMA = 19

/** A data directory that 0.2.0 has made, with the configuration of its server. */
interface OldNode {
  directory: string
  dataDir: string
  flags: readonly string[]
}

function withOldNode(run: (node: OldNode) => Promise<void>): Promise<void> {
  return withTempDir(async directory => {
    await unpack(ARCHIVE, directory)
    await run({ directory, dataDir: join(directory, 'data'), flags: ['--config', join(directory, 'config.json')] })
  })
}

afterEach(() => ServerProcess.killAll())

async function ask(server: ServerProcess, path: string, body?: object | FormData) {
  const response = await fetch(server.api + path, {
    headers: {
      authorization: `Bearer ${old.key}`,
      ...(body === undefined || body instanceof FormData ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { method: 'POST', body: body instanceof FormData ? body : JSON.stringify(body) }),
  })
  return { status: response.status, json: (await response.json()) as Record<string, unknown> }
}

async function expectAll(server: ServerProcess): Promise<void> {
  const mine = old.records.filter(({ account }) => account === 'ada')
  const { json } = await ask(server, '/users/me/uploads?limit=100')
  const known = mine.map(({ account: _, seed: __, length: ___, status: ____, ...record }) => record)
  expect(json.uploads).toMatchObject(known)
  expect((await ask(server, '/users/me')).json).toMatchObject({ usage: old.usage.ada, twoFactorEnabled: true })
  for (const { cid, seed, length } of old.records) {
    if (seed === undefined) continue
    const response = await fetch(`${server.url}/ipfs/${cid}`)
    expect([seed, response.status]).toEqual([seed, cid === old.taken ? 410 : 200])
    if (response.status === 200) {
      expect(Buffer.from(await response.arrayBuffer()).equals(numberedLines(seed, length ?? 0))).toBe(true)
    }
  }
  expect((await fetch(`${server.url}/ipfs/${old.gone}`)).status).toBe(404)
}

/** Returns the digest of each file that the server of 0.2.0 left. */
function digests(directory: string): Record<string, string> {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  const paths = files.map(entry => join(entry.parentPath, entry.name)).filter(path => !/-(wal|shm)$/.test(path))
  return Object.fromEntries(paths.map(path => [path, createHash('sha256').update(readFileSync(path)).digest('hex')]))
}

/** Checks an upgraded node, its records and its blocks. */
async function expectUpgraded(dataDir: string, flags: readonly string[]): Promise<void> {
  const server = await ServerProcess.start(dataDir, flags)
  await expectAll(server)
  const { json } = await ask(server, '/auth/login', { email: 'ada@example.org', password: old.password })
  const code = totpCode(base32upper.baseDecode(old.totpSecret), totpStep(Date.now()))
  const login = { temporaryToken: json.temporaryToken, code }
  expect(await ask(server, '/auth/2fa/verify-login', login)).toMatchObject({ status: 200 })
  expect(await server.stop()).toBe(0)
  const told = await runHoldfast(['reconcile', '--dry-run', '--json', '--data-dir', dataDir, ...flags])
  expect(JSON.parse(told.stdout)).toMatchObject({
    found: { 'cluster-unreachable': 1 },
    findings: [{ what: 'elsewhere' }],
  })
  expect((await runHoldfast(['verify', '--data-dir', dataDir, ...flags])).code).toBe(0)
}

test('a rehearsal tells the change, and leaves the directory alone', () =>
  withOldNode(async ({ directory, dataDir, flags }) => {
    const before = digests(directory)
    const finished = await runHoldfast(['upgrade', '--check', '--json', '--data-dir', dataDir, ...flags])
    expect([finished.code, finished.stderr]).toEqual([0, ''])
    const told = JSON.parse(finished.stdout) as Record<string, number>
    expect(told).toMatchObject({ schema: SCHEMA, newSchema: migrations.length })
    expect(told.seconds).toBeGreaterThan(0)
    expect(told.neededBytes).toBeGreaterThanOrEqual(statSync(join(dataDir, 'holdfast.db')).size)
    expect(digests(directory)).toEqual(before)
  }))

test.each([
  ['a scratch directory of a file', ['--scratch', '/dev/null/x'], 1, /ENOTDIR/],
  ['no --check', [], 2, /--check is needed/],
])('a rehearsal with %s fails, and changes nothing', (_, given, code, message) =>
  withOldNode(async ({ directory, dataDir, flags }) => {
    const before = digests(directory)
    const check = given.length === 0 ? [] : ['--check', ...given]
    const finished = await runHoldfast(['upgrade', ...check, '--data-dir', dataDir, ...flags])
    expect(finished).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(message) })
    expect(digests(directory)).toEqual(before)
  }),
)

test('an upgrade that is killed at every step keeps everything', { timeout: 120_000 }, () =>
  withOldNode(async ({ dataDir, flags }) => {
    killAtEveryStep(join(dataDir, 'holdfast.db'), SCHEMA)
    await expectUpgraded(dataDir, flags)
  }),
)

test('first starts that are killed at their steps keep everything', { timeout: 600_000 }, () =>
  withOldNode(async ({ dataDir, flags }) => {
    const start = (env: Env, nodeArgs: readonly string[]) =>
      ServerProcess.start(dataDir, flags, env, undefined, nodeArgs)
    expect(await killStarts(start, 7)).toBeGreaterThan(5)
    await expectUpgraded(dataDir, flags)
  }),
)

test(
  'the kept copy leads back to 0.2.0, without later uploads',
  {
    ...needs(hasSource(SOURCE), 'the history does not reach back to 0.2.0'),
  },
  () =>
    withOldNode(async ({ directory, dataDir, flags }) => {
      const source = join(directory, 'holdfast-0.2.0')
      unpackSource(SOURCE, source)
      const main = join(source, 'adapters', 'cli', 'main.ts')
      const startOld = () => ServerProcess.start(dataDir, flags, {}, 60_000, [], undefined, main)
      const first = await ServerProcess.start(dataDir, flags)
      expect(await first.stop()).toBe(0)
      await expect(startOld()).rejects.toThrow(/newer Holdfast/)
      const server = await ServerProcess.start(dataDir, flags)
      const form = new FormData()
      form.append('file', new Blob(['after the upgrade']), 'later.txt')
      const later = await ask(server, '/files', form)
      expect(later.status).toBe(201)
      // A killed server leaves the log of its database, which must not get into the old database.
      await ServerProcess.killAll()
      expect(statSync(join(dataDir, 'holdfast.db-wal')).size).toBeGreaterThan(0)
      execFileSync('sh', ['-e', '-c', wayBack()], { cwd: dataDir })
      const back = await startOld()
      await expectAll(back)
      const { json } = await ask(back, '/users/me/uploads?limit=100')
      expect(json.total).toBe(old.records.filter(({ account }) => account === 'ada').length)
      expect((await fetch(`${back.url}/ipfs/${String(later.json.cid)}`)).status).toBe(404)
      expect(await back.stop()).toBe(0)
    }),
)
