import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, readdir, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { connectAccounts, createEngine, type EngineOptions, openAccounts } from '../../src/index.ts'
import { migrations } from '../../src/storage/migrations.ts'
import { addSearchFunctions } from '../../src/storage/search-function.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { readFile } from '../support/read-back.ts'
import { EMPTY, storeSizes, withDatabase } from '../support/store-inspection.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { withEngine } from '../support/test-engine.ts'

const OWNER = join(import.meta.dirname, '..', 'support', 'owning-child.ts')
/** Owns the directory without opening its database. */
const HOLDER = join(import.meta.dirname, '..', 'support', 'holding-child.ts')

/** Runs with another process that owns the directory, and ends it afterwards. */
async function withOwner(dataDir: string, run: (owner: ChildProcess) => Promise<void>, child = OWNER): Promise<void> {
  const owner = spawn(process.execPath, [child, dataDir], { stdio: ['pipe', 'pipe', 'inherit'] })
  const exited = once(owner, 'exit')
  try {
    if (owner.stdout === null) throw new Error('no output')
    await once(owner.stdout, 'data')
    await run(owner)
  } finally {
    owner.kill('SIGKILL')
    await exited
  }
}

/** Writes a database with the schema of an older version. */
function writeSchema(file: string, version: number): void {
  const sqlite = new SqliteDatabase(file)
  addSearchFunctions(sqlite)
  for (const sql of migrations.slice(0, version)) sqlite.exec(sql)
  sqlite.pragma(`user_version = ${version}`)
  sqlite.close()
}

function schemaOf(file: string): unknown {
  const sqlite = new SqliteDatabase(file, { readonly: true })
  try {
    return sqlite.pragma('user_version', { simple: true })
  } finally {
    sqlite.close()
  }
}

async function startAndStop(options: EngineOptions): Promise<void> {
  await (await createEngine(options)).stop()
}

describe('a data directory', () => {
  // Each waits until a start fails.
  test.concurrent('is refused while another process owns it, and stays unchanged', async () => {
    await withTempDir(async dataDir => {
      await withOwner(dataDir, async owner => {
        await expect(createEngine({ dataDir })).rejects.toMatchObject({
          code: 'DATA_DIR_IN_USE',
          message: expect.stringContaining(dataDir),
        })
        expect(owner.exitCode).toBeNull()
      })
      await startAndStop({ dataDir })
    })
  })

  test.concurrent('with an older schema is migrated only by its owner', async () => {
    await withTempDir(async dataDir => {
      const older = migrations.length - 1
      const file = join(dataDir, 'holdfast.db')
      writeSchema(file, older)
      const before = await readdir(dataDir)
      await withOwner(
        dataDir,
        async () => {
          const refused = {
            code: 'DATA_DIR_IN_USE',
            message: expect.stringContaining('stop it and start this version'),
          }
          expect(() => openAccounts({ dataDir })).toThrow(expect.objectContaining(refused))
          await expect(connectAccounts({ dataDir })).rejects.toMatchObject(refused)
          expect(schemaOf(file)).toBe(older)
          expect((await readdir(dataDir)).filter(name => name !== 'datastore')).toEqual(before)
        },
        HOLDER,
      )
      await (await connectAccounts({ dataDir })).close()
      expect(schemaOf(file)).toBe(migrations.length)
      openAccounts({ dataDir }).close()
    })
  })

  test.concurrent('cannot be opened twice in one process', async () => {
    await withEngine(async ({ dataDir, engine, account }) => {
      await expect(createEngine({ dataDir })).rejects.toMatchObject({ code: 'DATA_DIR_IN_USE' })
      expect((await engine.pins.upload(Buffer.from('still working'), { account })).created).toBe(true)
    })
  })

  test.each<['killed' | 'stopped']>([['killed'], ['stopped']])(
    'passes to a new owner when the former is %s',
    async how => {
      await withTempDir(async dataDir => {
        await withOwner(dataDir, async owner => {
          const next = createEngine({ dataDir })
          if (how === 'killed') owner.kill('SIGKILL')
          else owner.stdin?.write('stop\n')
          await (await next).stop()
        })
      })
    },
  )

  test('lets accounts be created while its engine runs', async () => {
    await withEngine(async ({ dataDir, engine }) => {
      const beside = openAccounts({ dataDir })
      const { id } = await beside.accounts.create({ email: 'beside@example.org', plan: 'free' })
      beside.close()
      expect((await engine.pins.upload(Buffer.from('x'), { account: id })).record.accountId).toBe(id)
    })
  })

  test.each<[string, (dir: string) => Promise<string>]>([
    ['is a file', async dir => file(join(dir, 'data'))],
    ['is below a file', async dir => join(await file(join(dir, 'data')), 'deeper')],
    ['is a link to nothing', async dir => link(join(dir, 'absent'), join(dir, 'data'))],
    ['has a file for its blocks', dir => fileInside(dir, 'blocks')],
    ['has a file for its temporary files', dir => fileInside(dir, 'tmp')],
    ['has a file for its datastore', dir => fileInside(dir, 'datastore')],
    ['has a file for its import root', dir => fileInside(dir, 'import')],
    ['has a directory for its database', async dir => made(join(dir, 'data', 'holdfast.db'), join(dir, 'data'))],
    ['has a database that is none', dir => fileInside(dir, 'holdfast.db', pseudoRandom(8_192, 'not a database'))],
  ])('that %s is refused by path', async (_, prepare) => {
    await withTempDir(async dir => {
      const dataDir = await prepare(dir)
      await expect(createEngine({ dataDir })).rejects.toMatchObject({
        code: 'DATA_DIR_UNUSABLE',
        message: expect.stringContaining(dir),
      })
    })
  })

  test('without write permission is refused', async () => {
    await withTempDir(async dir => {
      await chmod(dir, 0o500)
      // Root may write everywhere except where the kernel refuses.
      const dataDir = process.getuid?.() === 0 ? '/proc/holdfast' : dir
      await expect(createEngine({ dataDir })).rejects.toMatchObject({ code: 'DATA_DIR_UNUSABLE' })
      await chmod(dir, 0o700)
    })
  })

  test('with a newer schema is refused and stays unchanged', async () => {
    await withTempDir(async dataDir => {
      await startAndStop({ dataDir })
      const version = withDatabase(dataDir, db => db.prepare<[], { user_version: number }>('PRAGMA user_version').get())
      const newer = (version?.user_version ?? 0) + 1
      withDatabase(dataDir, db => db.prepare(`PRAGMA user_version = ${newer}`).run())
      for (const open of [() => createEngine({ dataDir }), async () => openAccounts({ dataDir }).close()]) {
        await expect(open()).rejects.toMatchObject({
          code: 'DATA_DIR_NEWER',
          message: expect.stringContaining(String(newer)),
        })
      }
    })
  })

  test.each<[string, (dir: string, dataDir: string) => Promise<string>]>([
    ['is the data directory', async (_, dataDir) => dataDir],
    ['contains it', async dir => dir],
    ['is the root of everything', async () => '/'],
    ['is a link to it', async (dir, dataDir) => link(dataDir, join(dir, 'link'))],
    ['is a link above it', async dir => link(dir, join(dir, 'link'))],
    ['is written with detours', async (_, dataDir) => `${dataDir}/../data/.`],
    ['is its block directory', async (_, dataDir) => join(dataDir, 'blocks')],
  ])('is not exposed by an import root that %s', async (_, rootOf) => {
    await withTempDir(async dir => {
      const dataDir = await made(join(dir, 'data'))
      const importRoots = [await made(join(dir, 'harmless')), await rootOf(dir, dataDir)]
      await expect(createEngine({ dataDir, importRoots })).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('importRoots'),
      })
      await startAndStop({ dataDir, importRoots: importRoots.slice(0, 1) })
    })
  })

  test('is not exposed by an import root, if a cluster uses it', async () => {
    await withTempDir(async dir => {
      const far = await made(join(dir, 'far'))
      const cluster = { id: 'far', label: '', region: '', country: null, gateways: [], dataDir: far }
      const options = { dataDir: join(dir, 'data'), clusters: [cluster], defaultCluster: 'far' }
      for (const root of [far, join(far, 'blocks')]) {
        await expect(createEngine({ ...options, importRoots: [root] })).rejects.toMatchObject({
          code: 'CONFIG_INVALID',
        })
      }
      await startAndStop(options)
    })
  })

  test('starts with its default import root, or one beside it', async () => {
    await withTempDir(async dir => {
      const dataDir = join(dir, 'not', 'there', 'yet')
      const engine = await createEngine({ dataDir })
      expect(engine.importRoots).toEqual([join(dataDir, 'import')])
      await engine.stop()
      await startAndStop({ dataDir, importRoots: [join(dataDir, 'import'), join(dir, 'not', 'there', 'yet-too')] })
    })
  })

  test('keeps everything over a restart', async () => {
    await withEngine(async test => {
      const content = pseudoRandom(1_500_000, 'kept')
      const { record } = await test.engine.pins.upload(content, { account: test.account, name: 'kept' })
      await test.restart()
      const [listed] = (await test.engine.pins.list({ account: test.account })).items
      expect(listed).toMatchObject(record)
      expect((await readFile(await test.engine.clusters.backendOf(), record.cid)).equals(content)).toBe(true)
      await test.engine.pins.remove({ account: test.account, cid: record.cid })
      await test.restart()
      await test.engine.collect({ graceSeconds: 0 })
      expect(await storeSizes(test.dataDir)).toEqual(EMPTY)
    })
  })

  test('belongs to one of two engines in the process alone', async () => {
    await withEngine(one =>
      withEngine(async two => {
        const seen: string[] = []
        two.engine.events.on('pin:created', ({ record }) => seen.push(record.cid))
        const content = pseudoRandom(700_000, 'apart')
        const { record } = await one.engine.pins.upload(content, { account: one.account })
        expect(await two.engine.accounts.find(one.account)).toBeUndefined()
        expect((await two.engine.pins.list({ account: two.account })).total).toBe(0)
        await expect(two.engine.pins.pin({ account: two.account, cid: record.cid })).rejects.toMatchObject({
          code: 'CID_NOT_FOUND',
        })
        expect(await storeSizes(two.dataDir)).toEqual(EMPTY)
        await two.engine.pins.upload(content, { account: two.account })
        expect(seen).toEqual([record.cid])
        await two.engine.stop()
        expect((await readFile(await one.engine.clusters.backendOf(), record.cid)).equals(content)).toBe(true)
      }),
    )
  })

  test.each(['MANIFEST-', 'CURRENT'])('starts after a power cut has emptied %s of its datastore', async prefix => {
    await withEngine(async test => {
      const datastore = join(test.dataDir, 'datastore')
      await test.engine.stop()
      const names = await readdir(datastore)
      const name = names.find(entry => entry.startsWith(prefix)) ?? ''
      await truncate(join(datastore, name))
      const engine = await test.restart()
      expect((await engine.pins.upload(Buffer.from('x'), { account: test.account })).created).toBe(true)
    })
  })

  test('has no timers left after a stop', async () => {
    await withEngine(async ({ engine, clock, account }) => {
      await engine.pins.upload(Buffer.from('x'), { account, timelock: '2030-06-01T00:00:00Z' })
      expect(clock.waiting).toBeGreaterThan(0)
      await engine.stop()
      expect(clock.waiting).toBe(0)
    })
  })
})

async function file(path: string, content: Uint8Array = Buffer.from('a file')): Promise<string> {
  await writeFile(path, content)
  return path
}

async function made(path: string, told = path): Promise<string> {
  await mkdir(path, { recursive: true })
  return told
}

async function link(target: string, path: string): Promise<string> {
  await symlink(target, path)
  return path
}

async function fileInside(dir: string, name: string, content?: Uint8Array): Promise<string> {
  const dataDir = await made(join(dir, 'data'))
  await file(join(dataDir, name), content)
  return dataDir
}
