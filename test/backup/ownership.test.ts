import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, cp, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { checkBackup, createEngine, openAccounts, restoreBackup } from '../../src/index.ts'
import { lockDirectory } from '../../src/storage/directory-lock.ts'
import { filesIn, withTempDir } from '../support/temp-dir.ts'
import { type TestEngine, withEngine } from '../support/test-engine.ts'
import { expectRestores, expectStored, fill } from './support.ts'

const SUPPORT = join(import.meta.dirname, '..', 'support')

/** Runs with a process after its first output, and ends it afterwards. */
async function withChild(
  script: string,
  args: readonly string[],
  run: (child: ChildProcess) => Promise<void>,
): Promise<void> {
  const child = spawn(process.execPath, [join(SUPPORT, script), ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  try {
    if (child.stdout === null) throw new Error('no output')
    await once(child.stdout, 'data')
    await run(child)
  } finally {
    child.kill('SIGKILL')
    await exited
  }
}

/** Runs with an engine that has content and a backup, and a directory beside both. */
function withBackup(
  run: (test: TestEngine, backup: string, dir: string, stored: Map<string, Buffer>) => Promise<void>,
): Promise<void> {
  return withTempDir(dir =>
    withEngine(async test => {
      const backup = join(dir, 'backup')
      const stored = await fill(test, 'good', { sizes: [100, 40_000, 50_000, 60_000] })
      await test.engine.backup(backup)
      await run(test, backup, dir, stored)
    }),
  )
}

const refusal = (code: string, text: string) => ({ code, message: expect.stringContaining(text) })

describe('a good backup', () => {
  test('is not replaced by an empty or another node', async () => {
    await withBackup(async (_, backup, dir, stored) => {
      const other = await createEngine({ dataDir: join(dir, 'empty') })
      try {
        const before = await filesIn(backup)
        await expect(other.backup(backup)).rejects.toMatchObject(refusal('CONFLICT', `${backup} is of another node`))
        expect(await filesIn(backup)).toEqual(before)
        await expectRestores(backup, stored)
        await other.backup(backup, { force: true })
        expect(await checkBackup({ backup })).toMatchObject({ problemCount: 0, blocks: 0 })
      } finally {
        await other.stop()
      }
    })
  })

  test('is not replaced by a restored copy of its node', async () => {
    await withBackup(async (_, backup, dir) => {
      for (const sameNode of [false, true]) {
        const dataDir = join(dir, String(sameNode))
        await restoreBackup({ backup, dataDir, sameNode })
        const engine = await createEngine({ dataDir })
        try {
          if (sameNode) expect(await engine.backup(backup)).toMatchObject({ sequence: 2 })
          else await expect(engine.backup(backup)).rejects.toMatchObject({ code: 'CONFLICT' })
        } finally {
          await engine.stop()
        }
      }
    })
  })

  test('is not replaced by its node after it lost most roots', async () => {
    await withBackup(async (test, backup, _, stored) => {
      const [kept = '', ...removed] = stored.keys()
      for (const cid of removed) await test.engine.pins.remove({ account: test.account, cid })
      await test.engine.collect({ graceSeconds: 0 })
      const before = await filesIn(backup)
      const refused = refusal('CONFLICT', 'has 4 roots, and the node has lost more than half of them')
      await expect(test.engine.backup(backup)).rejects.toMatchObject(refused)
      expect(await filesIn(backup)).toEqual(before)
      await expectRestores(backup, stored)
      expect(await test.engine.backup(backup, { force: true })).toMatchObject({ sequence: 2 })
      await expectRestores(backup, new Map([[kept, stored.get(kept) ?? Buffer.alloc(0)]]))
    })
  })

  test('is replaced after most of its roots expired', async () => {
    await withTempDir(dir =>
      withEngine(async ({ engine, account, clock }) => {
        const backup = join(dir, 'backup')
        for (let i = 0; i < 4; i++) {
          await engine.pins.upload(Buffer.from(`brief ${i}`), { account, timelock: new Date(clock.now() + 60_000) })
        }
        await engine.backup(backup)
        clock.advance(120_000)
        await engine.collect({ graceSeconds: 0 })
        expect(await engine.backup(backup)).toMatchObject({ sequence: 2 })
      }),
    )
  })

  test('stays usable when the next is killed after writing other keys', async () => {
    await withBackup(async (test, backup, dir) => {
      const secrets = join(test.dataDir, 'secrets')
      await writeFile(secrets, 'first')
      await test.engine.backup(backup)
      await cp(backup, join(dir, 'before'), { recursive: true })
      await writeFile(secrets, 'second')
      await test.engine.backup(backup)
      // State after a run that was killed before it wrote the manifest.
      for (const name of ['manifest.json', 'database-2.db']) await cp(join(dir, 'before', name), join(backup, name))
      const dataDir = join(dir, 'restored')
      await restoreBackup({ backup, dataDir, sameNode: true })
      expect(await readFile(join(dataDir, 'secrets'), 'utf8')).toBe('first')
    })
  })
})

describe('a file of somebody else', () => {
  const mine = 'database-mine.db'

  test('keeps a directory from becoming a backup', async () => {
    await withBackup(async (test, _, dir) => {
      const directory = join(dir, 'mine')
      await mkdir(join(directory, 'stores'), { recursive: true })
      await writeFile(join(directory, mine), 'not of a backup')
      const before = await filesIn(directory)
      await expect(test.engine.backup(directory)).rejects.toMatchObject(refusal('VALIDATION', 'is neither empty nor'))
      expect(await filesIn(directory)).toEqual(before)
    })
  })

  test('stays in a backup, whatever its name', async () => {
    await withBackup(async (test, backup, _, stored) => {
      const names = [mine, 'database-2.db', 'database-3.db-journal', 'stores/mine.data', 'stores/0/blocks/mine.data']
      for (const name of names) await writeFile(join(backup, name), 'not of a backup')
      await test.engine.backup(backup)
      await test.engine.backup(backup)
      for (const name of names) expect(await readFile(join(backup, name), 'utf8')).toBe('not of a backup')
      const databases = (await readdir(backup)).filter(name => /^database-.*db$/.test(name))
      expect(databases.sort()).toEqual(['database-2.db', 'database-5.db', mine])
      await expectRestores(backup, stored)
    })
  })

  test('stays when a killed first run is repeated', async () => {
    await withBackup(async (test, backup, dir, stored) => {
      const directory = join(dir, 'killed')
      await cp(backup, directory, { recursive: true })
      await rm(join(directory, 'manifest.json'))
      await writeFile(join(directory, 'database-1.db'), 'unfinished')
      await writeFile(join(directory, 'database-1.db-journal'), 'unfinished')
      const journal = { format: 'holdfast-unfinished-1', databases: ['database-1.db'] }
      await writeFile(join(directory, 'unfinished.json'), JSON.stringify(journal))
      await writeFile(join(directory, mine), 'not of a backup')
      await expect(test.engine.backup(directory)).rejects.toMatchObject({ code: 'VALIDATION' })
      await rm(join(directory, mine))
      await test.engine.backup(directory)
      const names = ['database-1.db', 'keys', 'lock', 'manifest.json', 'stores']
      expect((await readdir(directory)).sort()).toEqual(names)
      await expectRestores(directory, stored)
    })
  })

  test('stays when a later run was killed, whose database is replaced', async () => {
    await withBackup(async (test, backup, _, stored) => {
      const stop = new AbortController()
      const broken = test.engine.backup(backup, { signal: stop.signal, onProgress: () => stop.abort() })
      await expect(broken).rejects.toThrow()
      expect(await readdir(backup)).toContain('database-2.db')
      await writeFile(join(backup, mine), 'not of a backup')
      await test.engine.backup(backup)
      const databases = (await readdir(backup)).filter(name => name.startsWith('database-'))
      expect(databases.sort()).toEqual(['database-2.db', mine])
      expect(await readdir(backup)).not.toContain('unfinished.json')
      await expectRestores(backup, stored)
    })
  })
})

describe('a key directory', () => {
  test('belongs to one node, even with force', async () => {
    await withBackup(async (test, _, dir) => {
      const keys = join(dir, 'keys')
      await test.engine.backup(join(dir, 'one'), { keys })
      const before = await readFile(join(keys, 'data.key'))
      const other = await createEngine({ dataDir: join(dir, 'other') })
      try {
        for (const force of [false, true]) {
          const refused = refusal('CONFLICT', `${keys} has the keys of another node`)
          await expect(other.backup(join(dir, 'two'), { keys, force })).rejects.toMatchObject(refused)
        }
        expect(await readFile(join(keys, 'data.key'))).toEqual(before)
      } finally {
        await other.stop()
      }
      expect(await checkBackup({ backup: join(dir, 'one') })).toMatchObject({ problemCount: 0 })
      await rm(keys, { recursive: true })
      const checked = await checkBackup({ backup: join(dir, 'one') })
      expect(checked.problems[0]).toMatchObject({ what: join(keys, 'data.key') })
    })
  })
})

describe('the lock of a backup directory', () => {
  test('excludes another process and another caller until its process is killed', async () => {
    await withTempDir(async dir => {
      const taken = expect.objectContaining(refusal('CONFLICT', dir))
      await withChild('locking-child.ts', [dir, 'alone'], async () => {
        expect(() => lockDirectory(dir, 'alone')).toThrow(taken)
        expect(() => lockDirectory(dir, 'together')).toThrow(taken)
      })
      await withChild('locking-child.ts', [dir, 'together'], async () => {
        expect(() => lockDirectory(dir, 'alone')).toThrow(taken)
        lockDirectory(dir, 'together')?.()
      })
      const unlock = lockDirectory(dir, 'alone')
      expect(() => lockDirectory(dir, 'alone')).toThrow(taken)
      unlock?.()
      lockDirectory(dir, 'alone')?.()
    })
  })

  test('lets one of two concurrent backups run, and refuses the other', async () => {
    await withBackup(async (test, backup, dir, stored) => {
      const before = await filesIn(backup)
      await withChild('locking-child.ts', [backup, 'alone'], async () => {
        await expect(test.engine.backup(backup)).rejects.toMatchObject({ code: 'CONFLICT' })
        await expect(checkBackup({ backup })).rejects.toMatchObject({ code: 'CONFLICT' })
        const restoring = restoreBackup({ backup, dataDir: join(dir, 'restored') })
        await expect(restoring).rejects.toMatchObject({ code: 'CONFLICT' })
      })
      expect(await filesIn(backup)).toEqual(before)
      await expectRestores(backup, stored)
    })
  })

  test('gives one of two nodes a new directory that both start', async () => {
    await withBackup(async (test, _, dir, stored) => {
      const other = await createEngine({ dataDir: join(dir, 'other') })
      try {
        for (let round = 0; round < 3; round++) {
          const both = join(dir, `both-${round}`)
          const results = await Promise.allSettled([test.engine.backup(both), other.backup(both)])
          const refused = results.filter(result => result.status === 'rejected')
          expect(refused.map(({ reason }) => reason.code)).toEqual(['CONFLICT'])
          expect(await checkBackup({ backup: both })).toMatchObject({ problemCount: 0 })
          if (results[0].status === 'fulfilled') await expectRestores(both, stored)
        }
      } finally {
        await other.stop()
      }
    })
  })
})

// The first test waits until a restore fails.
describe.concurrent('a restore', () => {
  test('refuses starts in its directory while it runs, and once killed', async () => {
    await withBackup(async (_, backup, dir, stored) => {
      const dataDir = join(dir, 'restored')
      const refused = refusal('DATA_DIR_UNUSABLE', `${dataDir} has an unfinished restore`)
      const isRefused = async () => {
        await expect(createEngine({ dataDir })).rejects.toMatchObject(refused)
        expect(() => openAccounts({ dataDir })).toThrow(expect.objectContaining(refused))
        expect(await readdir(dataDir)).not.toContain('holdfast.db')
      }
      await withChild('restoring-child.ts', [backup, dataDir, '0', 'wait'], async () => {
        await isRefused()
        await expect(restoreBackup({ backup, dataDir })).rejects.toMatchObject({ code: 'DATA_DIR_IN_USE' })
      })
      await isRefused()
      const strangers = ['mine.txt', 'holdfast.db.restored-mine', 'holdfast.db.restored.old']
      for (const name of strangers) await writeFile(join(dataDir, name), 'not of the restore')
      for (const name of ['-wal', '.schema-1.part']) await writeFile(join(dataDir, `holdfast.db.restored${name}`), '')
      await restoreBackup({ backup, dataDir })
      for (const name of strangers) expect(await readFile(join(dataDir, name), 'utf8')).toBe('not of the restore')
      const names = await readdir(dataDir)
      expect(names.filter(name => name.includes('restored') && !strangers.includes(name))).toEqual([])
      const engine = await createEngine({ dataDir })
      try {
        await expectStored(engine, stored)
      } finally {
        await engine.stop()
      }
    })
  })

  test('keeps no identity of an earlier attempt as a new node', async () => {
    await withBackup(async (test, backup, dir) => {
      await writeFile(join(test.dataDir, 'secrets'), 'secrets')
      await test.engine.backup(backup)
      const dataDir = join(dir, 'restored')
      const stop = new AbortController()
      const broken = restoreBackup({
        backup,
        dataDir,
        sameNode: true,
        signal: stop.signal,
        onProgress: () => stop.abort(),
      })
      await expect(broken).rejects.toThrow()
      expect(await readdir(dataDir)).toContain('secrets')
      await restoreBackup({ backup, dataDir })
      expect(await readdir(dataDir)).not.toContain('secrets')
    })
  })

  test('never writes into a backup, nor into a used directory', async () => {
    await withBackup(async (test, backup, dir) => {
      const before = await filesIn(backup)
      await symlink(backup, join(dir, 'link'))
      for (const dataDir of [backup, join(backup, 'restored'), join(dir, 'link', 'restored'), dir]) {
        await expect(restoreBackup({ backup, dataDir })).rejects.toMatchObject({ code: 'VALIDATION' })
      }
      await cp(backup, join(dir, 'other-backup'), { recursive: true })
      await mkdir(join(dir, 'full'))
      await writeFile(join(dir, 'full', 'mine'), 'mine')
      for (const dataDir of [join(dir, 'other-backup'), join(dir, 'full'), test.dataDir]) {
        const names = await readdir(dataDir)
        await expect(restoreBackup({ backup, dataDir })).rejects.toMatchObject({ code: 'DATA_DIR_UNUSABLE' })
        expect(await readdir(dataDir)).toEqual(names)
      }
      expect(await filesIn(backup)).toEqual(before)
    })
  })

  test('reads a backup without write permission', async () => {
    await withBackup(async (_, backup, __, stored) => {
      await rm(join(backup, 'lock'))
      await chmod(backup, 0o500)
      await expectRestores(backup, stored).finally(() => chmod(backup, 0o700))
    })
  })
})
