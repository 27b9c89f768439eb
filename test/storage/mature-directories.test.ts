import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { base32upper } from 'multiformats/bases/base32'
import { afterEach, describe, expect, test } from 'vitest'
import { totpCode, totpStep } from '../../src/access/sign-in/totp.ts'
import { migrations } from '../../src/storage/migrations.ts'
import { killAtEveryStep } from '../support/killed-migration.ts'
import { killStarts } from '../support/killed-starts.ts'
import { needs } from '../support/needs.ts'
import { hasSource, numberedLines, OLD_SOURCES, unpackSource, wayBack } from '../support/old-source.ts'
import { type Env, runHoldfast, ServerProcess } from '../support/server-process.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { unpack } from '../support/unpack.ts'
import of020 from './fixtures/data-0.2.0.json' with { type: 'json' }
import of030 from './fixtures/data-0.3.0.json' with { type: 'json' }

/** An old version, the number of its schema, and the contents of its directory. */
interface Made {
  version: '0.2.0' | '0.3.0'
  schema: number
  old: typeof of020 & Partial<Later>
}
/** Facts that only the directory of 0.3.0 has. */
type Later = Omit<typeof of030, keyof typeof of020>
const VERSIONS: readonly Made[] = [
  { version: '0.2.0', schema: 19, old: of020 },
  { version: '0.3.0', schema: 33, old: of030 },
]

/** A data directory that an old version has made, with the configuration of its server. */
interface OldNode extends Made {
  directory: string
  dataDir: string
  flags: readonly string[]
}

function withOldNode(made: Made, run: (node: OldNode) => Promise<void>): Promise<void> {
  return withTempDir(async directory => {
    await unpack(join(import.meta.dirname, 'fixtures', `data-${made.version}.tar.gz`), directory)
    const flags = ['--config', join(directory, 'config.json')]
    await run({ ...made, directory, dataDir: join(directory, 'data'), flags })
  })
}

afterEach(() => ServerProcess.killAll())

async function ask(server: ServerProcess, key: string, path: string, body?: object | FormData) {
  const isJson = body !== undefined && !(body instanceof FormData)
  const response = await fetch((path.startsWith('/admin/') ? server.url : server.api) + path, {
    headers: { authorization: `Bearer ${key}`, ...(isJson ? { 'content-type': 'application/json' } : {}) },
    ...(body === undefined ? {} : { method: 'POST', body: isJson ? JSON.stringify(body) : body }),
  })
  return { status: response.status, json: (await response.json()) as Record<string, unknown> }
}

function formOf(text: string): FormData {
  const form = new FormData()
  form.append('file', new Blob([text]), 'later.txt')
  return form
}

async function expectContent(server: ServerProcess, cid: string, seed: string, length: number): Promise<void> {
  const response = await fetch(`${server.url}/ipfs/${cid}`)
  expect([seed, response.status]).toEqual([seed, 200])
  expect(Buffer.from(await response.arrayBuffer()).equals(numberedLines(seed, length))).toBe(true)
}

async function expectAll(server: ServerProcess, { old }: Made): Promise<void> {
  const mine = old.records.filter(({ account }) => account === 'ada')
  const { json } = await ask(server, old.key, '/users/me/uploads?limit=100')
  const known = mine.map(({ account: _, seed: __, length: ___, status: ____, ...record }) => record)
  expect(json.uploads).toMatchObject(known)
  expect((await ask(server, old.key, '/users/me')).json).toMatchObject({ usage: old.usage.ada, twoFactorEnabled: true })
  for (const { cid, seed, length } of old.records) {
    if (seed !== undefined && cid !== old.taken) await expectContent(server, cid, seed, length ?? 0)
  }
  expect((await fetch(`${server.url}/ipfs/${old.taken}`)).status).toBe(410)
  expect((await fetch(`${server.url}/ipfs/${old.gone}`)).status).toBe(404)
}

/** Checks keys, a webhook, a takedown and a job in its undo period. */
async function expectLater(server: ServerProcess, { old }: Made): Promise<void> {
  if (old.job === undefined) return
  const { consoleKey = '', uploadToken = '', ownerKey = '', removed = [] } = old
  expect((await ask(server, consoleKey, '/users/me')).json).toMatchObject({ usage: old.usage.bob })
  expect((await ask(server, uploadToken, '/files', formOf('by token'))).status).toBe(201)
  const { json } = await ask(server, ownerKey, '/admin/v1/takedowns')
  expect(json.takedowns).toMatchObject([{ cid: old.taken, reason: 'complaint 17', status: 410 }])
  const hooks = await ask(server, old.key, '/webhooks')
  expect(hooks.json.webhooks).toMatchObject([{ id: old.webhook, waiting: expect.any(Number) }])
  for (const { cid } of removed) expect((await fetch(`${server.url}/ipfs/${cid}`)).status).toBe(404)
  expect((await ask(server, old.key, `/jobs/${old.job}/undo`, {})).status).toBe(202)
  const state = async () => ((await ask(server, old.key, `/jobs/${old.job}`)).json.job as { state: string }).state
  await expect.poll(state).toBe('undone')
  for (const { cid, seed, length } of removed) await expectContent(server, cid, seed, length)
}

/** Returns the digest of each file that the old server left. */
function digests(directory: string): Record<string, string> {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  const paths = files.map(entry => join(entry.parentPath, entry.name)).filter(path => !/-(wal|shm)$/.test(path))
  return Object.fromEntries(paths.map(path => [path, createHash('sha256').update(readFileSync(path)).digest('hex')]))
}

/** Checks an upgraded node, its records and its blocks. */
async function expectUpgraded(node: OldNode): Promise<void> {
  const { dataDir, flags, old } = node
  const server = await ServerProcess.start(dataDir, flags)
  await expectAll(server, node)
  const { json } = await ask(server, old.key, '/auth/login', { email: 'ada@example.org', password: old.password })
  const code = totpCode(base32upper.baseDecode(old.totpSecret), totpStep(Date.now()))
  const login = { temporaryToken: json.temporaryToken, code }
  expect(await ask(server, old.key, '/auth/2fa/verify-login', login)).toMatchObject({ status: 200 })
  await expectLater(server, node)
  expect(await server.stop()).toBe(0)
  const told = await runHoldfast(['reconcile', '--dry-run', '--json', '--data-dir', dataDir, ...flags])
  expect(JSON.parse(told.stdout)).toMatchObject({
    found: { 'cluster-unreachable': 1 },
    findings: [{ what: 'elsewhere' }],
  })
  expect((await runHoldfast(['verify', '--data-dir', dataDir, ...flags])).code).toBe(0)
}

describe.each(VERSIONS)('a directory of $version', made => {
  test('is left alone by a rehearsal, which tells the change', () =>
    withOldNode(made, async ({ directory, dataDir, flags }) => {
      const before = digests(directory)
      const finished = await runHoldfast(['upgrade', '--check', '--json', '--data-dir', dataDir, ...flags])
      expect([finished.code, finished.stderr]).toEqual([0, ''])
      const told = JSON.parse(finished.stdout) as Record<string, number>
      expect(told).toMatchObject({ schema: made.schema, newSchema: migrations.length })
      expect(told.seconds).toBeGreaterThan(0)
      expect(told.neededBytes).toBeGreaterThanOrEqual(statSync(join(dataDir, 'holdfast.db')).size)
      expect(digests(directory)).toEqual(before)
    }))

  test.each([
    ['a scratch directory of a file', ['--scratch', '/dev/null/x'], 2, /^holdfast: scratch: .* ENOTDIR/],
    ['no --check', [], 2, /--check is needed/],
  ])('is left alone by a rehearsal with %s, which fails', (_, given, code, message) =>
    withOldNode(made, async ({ directory, dataDir, flags }) => {
      const before = digests(directory)
      const check = given.length === 0 ? [] : ['--check', ...given]
      const finished = await runHoldfast(['upgrade', ...check, '--data-dir', dataDir, ...flags])
      expect(finished).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(message) })
      expect(digests(directory)).toEqual(before)
    }),
  )

  test('keeps everything over an upgrade that is killed at every step', { timeout: 120_000 }, () =>
    withOldNode(made, async node => {
      killAtEveryStep(join(node.dataDir, 'holdfast.db'), made.schema)
      await expectUpgraded(node)
    }),
  )

  test('keeps everything over first starts that are killed at their steps', { timeout: 600_000 }, () =>
    withOldNode(made, async node => {
      const start = (env: Env, nodeArgs: readonly string[]) =>
        ServerProcess.start(node.dataDir, node.flags, env, undefined, nodeArgs)
      expect(await killStarts(start, 7)).toBeGreaterThan(5)
      await expectUpgraded(node)
    }),
  )

  test(
    'returns to its version by the kept copy, without later uploads',
    needs(hasSource(OLD_SOURCES[made.version]), `the history does not reach back to ${made.version}`),
    () =>
      withOldNode(made, async ({ directory, dataDir, flags, old, version }) => {
        const source = join(directory, `holdfast-${version}`)
        unpackSource(OLD_SOURCES[version], source)
        const main = join(source, 'adapters', 'cli', 'main.ts')
        const startOld = () => ServerProcess.start(dataDir, flags, {}, 60_000, [], undefined, main)
        const first = await ServerProcess.start(dataDir, flags)
        expect(await first.stop()).toBe(0)
        await expect(startOld()).rejects.toThrow(/newer Holdfast/)
        const server = await ServerProcess.start(dataDir, flags)
        const later = await ask(server, old.key, '/files', formOf('after the upgrade'))
        expect(later.status).toBe(201)
        // A killed server leaves the log of its database, which must not get into the old database.
        await ServerProcess.killAll()
        expect(statSync(join(dataDir, 'holdfast.db-wal')).size).toBeGreaterThan(0)
        execFileSync('sh', ['-e', '-c', wayBack(version)], { cwd: dataDir })
        const back = await startOld()
        await expectAll(back, made)
        const { json } = await ask(back, old.key, '/users/me/uploads?limit=100')
        expect(json.total).toBe(old.records.filter(({ account }) => account === 'ada').length)
        expect((await fetch(`${back.url}/ipfs/${String(later.json.cid)}`)).status).toBe(404)
        expect(await back.stop()).toBe(0)
      }),
  )
})
