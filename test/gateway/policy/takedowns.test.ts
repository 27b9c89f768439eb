import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { KnownTakedown, TakedownRow } from '../../../src/catalogue/takedown-rows.ts'
import { RevisionLog } from '../../../src/content/revision-log.ts'
import type { WithheldBlocks } from '../../../src/content/withholding.ts'
import { nodeFileSystem } from '../../../src/disk/node-file-system.ts'
import type { FileSystem } from '../../../src/domain/file-system.ts'
import { silentLogger } from '../../../src/domain/logger.ts'
import { type TakedownMeans, Takedowns } from '../../../src/gateway/policy/takedowns.ts'
import { createEngine, type Engine, HoldfastError, SCOPES } from '../../../src/index.ts'
import { hosts } from '../../contract/hosts.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { newDirectory } from '../../support/new-database.ts'
import { noWithholding } from '../../support/no-withholding.ts'
import { serveEngine } from '../../support/served-engine.ts'
import { runHoldfast } from '../../support/server-process.ts'
import { apiRequest, readBody } from '../client.ts'

const MIB = 1024 ** 2

let dataDir: string

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'holdfast-takedowns-'))
})

afterEach(() => rm(dataDir, { recursive: true, force: true }))

async function statusOf(engine: Engine, path: string): Promise<number> {
  return (await engine.gateway(apiRequest('GET', path))).status
}

async function* tree() {
  for (const path of ['sub/a.txt', 'sub/b.txt', 'subway/c.txt', 'd.txt']) {
    yield { kind: 'file' as const, path, content: Buffer.from(path) }
  }
}

describe.each(hosts.map(host => ({ host, name: host.name })))('the routes, $name', ({ host }) => {
  test('only the owner takes content down and lifts takedowns', async () => {
    const engine = await createEngine({ dataDir: newDirectory(dataDir) })
    const { client, close } = await host.serve(engine)
    try {
      const { id } = await engine.accounts.create({ email: 'boss@example.org', plan: 'premium', role: 'owner' })
      const other = await engine.accounts.create({ email: 'user@example.org', plan: 'unlimited' })
      const auth = async (account: string) => ({
        authorization: `Bearer ${(await engine.keys.create(account, { name: 'all', scopes: SCOPES })).secret}`,
        'content-type': 'application/json',
      })
      const [owner, user] = [await auth(id), await auth(other.id)]
      const { record } = await engine.pins.upload(Buffer.from('bad'), { account: other.id })
      const { cid } = record
      const ask = (method: string, path: string, body?: object, headers = owner) =>
        client.request(method, `/admin/v1/takedowns${path}`, {
          headers,
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        })

      for (const [method, path] of [
        ['GET', ''],
        ['POST', ''],
        ['DELETE', `/${cid}`],
      ] as const) {
        const refused = await ask(method, path, method === 'POST' ? { cid, reason: 'x' } : undefined, user)
        expect([refused.status, refused.json.code]).toEqual([403, 'OWNER_REQUIRED'])
      }
      for (const body of [
        { reason: 'x' },
        { cid: 'x', reason: 'x' },
        { cid, reason: ' ' },
        { cid },
        { cid, reason: 'x'.repeat(1001) },
        { cid, reason: 'two\nlines' },
        { cid, reason: 'x', status: 404 },
        { cid, reason: 'x', path: 'a*' },
      ]) {
        expect((await ask('POST', '', body)).status, JSON.stringify(body)).toBe(400)
      }
      expect(await statusOf(engine, `/ipfs/${cid}`)).toBe(200)
      const taken = await ask('POST', '', { cid, reason: 'complaint 17: % ünsafe', status: 451 })
      expect(taken.status).toBe(201)
      expect(taken.json).toMatchObject({ cid, path: '', status: 451, reason: 'complaint 17: % ünsafe' })
      expect(await statusOf(engine, `/ipfs/${cid}`)).toBe(451)
      expect((await ask('GET', '')).json).toEqual({ takedowns: [taken.json], next: null })
      expect((await ask('DELETE', `/${cid}?path=x`)).status).toBe(404)
      expect((await ask('DELETE', `/${cid}`)).json).toEqual({ removed: true })
      expect((await ask('DELETE', `/${cid}`)).status).toBe(404)
      expect(await statusOf(engine, `/ipfs/${cid}`)).toBe(200)
    } finally {
      await close()
      await engine.stop()
    }
  })
})

test('taken-down content is refused on every path and after a restart', async () => {
  let engine = await createEngine({ dataDir: newDirectory(dataDir) })
  const { id } = await engine.accounts.create({ email: 'a@example.org', plan: 'unlimited' })
  const { record: root } = await engine.pins.uploadDirectory(tree(), { account: id })
  const { record: file } = await engine.pins.upload(Buffer.from('d.txt'), { account: id })
  await engine.takedowns.add({ cid: file.cid, reason: 'one' })
  await engine.takedowns.add({ cid: root.cid, path: '/sub/', reason: 'two', status: 451 })
  const expected = {
    '': 200,
    '/d.txt': 410,
    '/sub': 451,
    '/sub/': 451,
    '/sub/a.txt': 451,
    '/subway/c.txt': 200,
    '/d.txt?format=raw': 410,
  }
  for (const when of ['at once', 'after a restart']) {
    for (const [path, status] of Object.entries(expected)) {
      expect(await statusOf(engine, `/ipfs/${root.cid}${path || '/'}`), `${path} ${when}`).toBe(status)
    }
    expect((await engine.takedowns.page({ after: null, limit: 10 })).rows.map(({ reason }) => reason)).toEqual([
      'one',
      'two',
    ])
    await engine.stop()
    engine = await createEngine({ dataDir: newDirectory(dataDir) })
  }
  const first = await engine.takedowns.page({ after: null, limit: 1 })
  expect(first.rows.length).toBe(1)
  expect(await engine.takedowns.page({ after: first.next, limit: 1 })).toMatchObject({
    rows: [{ reason: 'two' }],
    next: null,
  })
  await engine.stop()
  // A node with an unreadable list does not start.
  await rm(join(dataDir, 'takedowns.deny'))
  await mkdir(join(dataDir, 'takedowns.deny'))
  await expect(createEngine({ dataDir: newDirectory(dataDir) })).rejects.toMatchObject({ code: 'DATA_DIR_UNUSABLE' })
})

test('a takedown of a path holds in every Unicode form', async () => {
  const engine = await createEngine({ dataDir: newDirectory(dataDir) })
  try {
    const { id } = await engine.accounts.create({ email: 'a@example.org', plan: 'unlimited' })
    const forms = ['dé/ñ', 'de\u0301/n\u0303', 'dé/n\u0303', 'de\u0301/ñ']
    for (const stored of forms) {
      const file = { kind: 'file' as const, path: `in/${stored}.txt`, content: Buffer.from(stored) }
      const { record } = await engine.pins.uploadDirectory([file, { ...file, path: 'ok' }], { account: id })
      for (const taken of forms) {
        await engine.takedowns.add({ cid: record.cid, path: `in/${taken}.txt`, reason: 'x' })
        for (const asked of forms) {
          const path = `/ipfs/${record.cid}/in/${encodeURI(asked)}.txt`
          for (const format of ['', '?format=raw', '?format=car', '?format=tar'])
            expect([taken, asked, await statusOf(engine, path + format)]).toEqual([taken, asked, 410])
        }
        expect(await statusOf(engine, `/ipfs/${record.cid}/ok`)).toBe(200)
        await engine.takedowns.remove({ cid: record.cid, path: `in/${taken}.txt` })
      }
      expect(await statusOf(engine, `/ipfs/${record.cid}/in/${encodeURI(stored)}.txt`)).toBe(200)
    }
  } finally {
    await engine.stop()
  }
})

test('a takedown ends an open answer', async () => {
  const engine = await createEngine({ dataDir: newDirectory(dataDir) })
  try {
    const { id } = await engine.accounts.create({ email: 'a@example.org', plan: 'unlimited' })
    const { record } = await engine.pins.upload(pseudoRandom(12 * MIB), { account: id })
    const response = await engine.gateway(apiRequest('GET', `/ipfs/${record.cid}?filename=x.bin`))
    const body = (response.body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()
    await body.next()
    await engine.takedowns.add({ cid: record.cid, reason: 'x' })
    const rest = await readBody({ ...response, body: { [Symbol.asyncIterator]: () => body } })
    expect(rest.isBroken).toBe(true)
    expect(rest.bytes.length).toBeLessThan(11 * MIB)
  } finally {
    await engine.stop()
  }
})

describe('the file', () => {
  const CID = 'bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'
  const open = (
    fileSystem: FileSystem,
    means: Partial<Pick<TakedownMeans, 'shared' | 'withholding'>> = {},
  ): Takedowns =>
    Takedowns.open(join(dataDir, 'takedowns.deny'), {
      fileSystem,
      clock: new ManualClock(),
      logger: silentLogger,
      withholding: noWithholding,
      revisions: new RevisionLog(new ManualClock(), null),
      ...means,
    })

  beforeEach(() => nodeFileSystem.makeDirectory(join(dataDir, 'tmp')))

  test('is on disk before the takedown is acknowledged', async () => {
    const done: string[] = []
    const recording: FileSystem = {
      ...nodeFileSystem,
      create: async path => {
        const file = await nodeFileSystem.create(path)
        return { ...file, datasync: () => file.datasync().then(() => void done.push('data')) }
      },
      append: async path => {
        const file = await nodeFileSystem.append(path)
        return { ...file, datasync: () => file.datasync().then(() => void done.push('added data')) }
      },
      rename: (from, to) => nodeFileSystem.rename(from, to).then(() => void done.push('name')),
      syncDirectory: path => nodeFileSystem.syncDirectory(path).then(() => void done.push('directory')),
    }
    const takedowns = open(recording)
    await takedowns.add({ cid: CID, reason: 'x' })
    expect(done.splice(0)).toEqual(['data', 'name', 'directory'])
    await takedowns.add({ cid: CID, path: 'a', reason: 'x' })
    expect(done).toEqual(['added data'])
  })

  test('fails with OUTCOME_UNKNOWN if only the other nodes have the change', async () => {
    const shared = {
      all: async () => [],
      adopt: async () => undefined,
      put: async () => undefined,
      lift: async () => true,
    }
    const full = () => Promise.reject(new Error('ENOSPC'))
    const unknown = { code: 'OUTCOME_UNKNOWN' }
    await open(nodeFileSystem).add({ cid: CID, reason: 'x' })
    const takedowns = open({ ...nodeFileSystem, create: full, append: full }, { shared })
    await expect(takedowns.add({ cid: CID, reason: 'y' })).rejects.toMatchObject(unknown)
    await expect(takedowns.remove({ cid: CID })).rejects.toMatchObject(unknown)
    const missing = open(nodeFileSystem, { shared: { ...shared, lift: async () => false } })
    await expect(missing.remove({ cid: CID })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(open({ ...nodeFileSystem, create: full }).remove({ cid: CID })).rejects.toThrow('ENOSPC')
  })

  test('fails with OUTCOME_UNKNOWN if the ledger fails after the write', async () => {
    const broken = { ...noWithholding, change: () => Promise.reject(new HoldfastError('UNAVAILABLE', 'the disk')) }
    const takedowns = open(nodeFileSystem, { withholding: broken })
    await expect(takedowns.add({ cid: CID, reason: 'x' })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    expect(takedowns.page({ after: null, limit: 2 }).rows).toMatchObject([{ cid: CID }])
  })

  test('is applied to the ledger by the next synchronisation after a failure', async () => {
    const begun: number[] = []
    const broken = {
      ...noWithholding,
      begin: async (list: WithheldBlocks) => void begun.push([...list.blocks()].length),
      change: () => Promise.reject(new HoldfastError('UNAVAILABLE', 'the disk')),
    }
    const all: KnownTakedown[] = []
    const shared = {
      all: async () => all,
      adopt: async () => undefined,
      put: async (takedown: TakedownRow) => void all.push({ ...takedown, liftedAt: null }),
      lift: async () => true,
    }
    const takedowns = open(nodeFileSystem, { withholding: broken, shared })
    await expect(takedowns.add({ cid: CID, reason: 'x' })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    for (let i = 0; i < 2; i++) await takedowns.follow()
    expect(begun).toEqual([1])
  })

  test('is unchanged after a failed write, and changes are serial', async () => {
    let isFull = false
    const failing: FileSystem = {
      ...nodeFileSystem,
      append: async path => {
        if (isFull) throw Object.assign(new Error('full'), { code: 'ENOSPC' })
        return nodeFileSystem.append(path)
      },
    }
    const takedowns = open(failing)
    await Promise.all(['a', 'b', 'c'].map(path => takedowns.add({ cid: CID, path, reason: path })))
    isFull = true
    await expect(takedowns.add({ cid: CID, path: 'd', reason: 'd' })).rejects.toThrow('full')
    isFull = false
    expect(takedowns.page({ after: null, limit: 9 }).rows.map(({ path }) => path)).toEqual(['a', 'b', 'c'])
    expect(open(nodeFileSystem).page({ after: null, limit: 9 })).toEqual(takedowns.page({ after: null, limit: 9 }))
    expect(await readFile(join(dataDir, 'takedowns.deny'), 'utf8')).toContain(`/ipfs/${CID}/a gateway_status:410 `)
  })

  test('keeps any names and reasons', async () => {
    const takedowns = open(nodeFileSystem)
    const path = 'a b/%41/ü/#?\n/!x'
    await takedowns.add({ cid: CID, path, reason: 'a  b % ü # !', status: 451 })
    expect(open(nodeFileSystem).page({ after: null, limit: 9 }).rows).toMatchObject([{ path, reason: 'a  b % ü # !' }])
    expect(await readdir(join(dataDir, 'tmp'))).toEqual([])
  })
})

test('commands take content down through the server and on the directory', async () => {
  await writeFile(join(dataDir, 'bad'), 'bad')
  const directory = join(dataDir, 'data')
  const served = await serveEngine(directory)
  const { env } = served
  const cid = (await runHoldfast(['upload', join(dataDir, 'bad'), '--json'], env)).stdout.match(/baf\w+/)?.[0] ?? ''
  const run = async (...args: string[]): Promise<string> => {
    const finished = await runHoldfast(['takedown', ...args], args.includes('--data-dir') ? {} : env)
    expect(finished).toMatchObject({ code: 0, stderr: '' })
    return finished.stdout
  }
  expect(await run('add', `/ipfs/${cid}`, '--reason', 'complaint 17')).toBe(`${cid} is now blocked with 410\n`)
  expect(await run('list')).toContain('complaint 17')
  await served[Symbol.asyncDispose]()
  const here = ['--data-dir', directory]
  expect(JSON.parse(await run('list', '--json', ...here))).toMatchObject({ cid, status: 410, reason: 'complaint 17' })
  expect(await run('remove', cid, ...here)).toBe(`${cid} is no longer blocked\n`)
  expect((await runHoldfast(['takedown', 'add', cid], env)).code).toBe(2)
})
