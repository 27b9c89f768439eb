import { join } from 'node:path'
import { CID } from 'multiformats/cid'
import * as Digest from 'multiformats/hashes/digest'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { type BlockingFiles, writeBlock } from '../../src/content/block-writing.ts'
import { DIRECT } from '../../src/disk/node-file-system.ts'
import type { DirectoryEntry } from '../../src/index.ts'
import { Database } from '../../src/storage/database.ts'
import { LogSync } from '../../src/storage/log-sync.ts'
import { blockFileOf } from '../support/block-place.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { turns } from '../support/content-parts.ts'
import { needsLinux } from '../support/needs.ts'
import { RecordingFiles } from '../support/recording-files.ts'
import { withDatabase } from '../support/store-inspection.ts'
import { type TestEngine, withEngine } from '../support/test-engine.ts'
import { exported, streamOf } from './car/support/cars.ts'

const { transaction } = Database.prototype
const { run } = LogSync.prototype

afterEach(() => vi.restoreAllMocks())

/** Logs the begin and the end of each outermost transaction and each sync. */
function recordCommits(log: string[]): void {
  vi.spyOn(Database.prototype, 'transaction').mockImplementation(function (this: Database, work: () => unknown) {
    if (this.inTransaction) return transaction.call(this, work)
    log.push('commit')
    const result = transaction.call(this, work)
    log.push('commit done')
    return result
  })
  vi.spyOn(LogSync.prototype, 'run').mockImplementation(async function (this: LogSync) {
    log.push('sync')
    await run.call(this)
    // Leaves time for code that does not wait for the sync, so that the log shows it.
    await turns(2)
    log.push('sync done')
  })
}

/** Returns the durable files of the ledger, relative to `blocks/`. */
function durableFiles(dataDir: string): string[] {
  const rows = withDatabase(dataDir, db =>
    db
      .prepare<[], { multihash: Uint8Array }>("SELECT multihash FROM blocks WHERE inline = 0 AND state = 'durable'")
      .all(),
  )
  return rows.map(({ multihash }) => blockFileOf(CID.createV1(0x55, Digest.decode(multihash))))
}

interface Recorded extends TestEngine {
  files: RecordingFiles
  /** Runs one write and returns the calls until its answer. */
  record(write: () => Promise<unknown>): Promise<string[]>
}

function withRecording(run: (test: Recorded) => Promise<void>): Promise<void> {
  const files = new RecordingFiles()
  return withEngine(
    async engine => {
      recordCommits(files.log)
      const early: string[] = []
      const synced = new Set<string>()
      files.fail = (operation, path) => {
        if (operation !== 'syncDirectory') return undefined
        const shard = path.slice(-2)
        const inShard = durableFiles(engine.dataDir).filter(file => file.startsWith(shard))
        early.push(...inShard.filter(file => !synced.has(file)))
        return undefined
      }
      await run(
        Object.assign(engine, {
          files,
          record: async (write: () => Promise<unknown>) => {
            for (const file of durableFiles(engine.dataDir)) synced.add(file)
            files.log.length = 0
            await write()
            const log = [...files.log]
            expect(early, 'called durable before their directory was synced').toEqual([])
            return log
          },
        }),
      )
    },
    { fileSystem: files },
  )
}

/** Checks the order of every write until its answer. Returns the number of files. */
function expectOrder(log: readonly string[]): number {
  const at = (line: string, from = 0): number => {
    const index = log.indexOf(line, from)
    expect(index, `${line} after line ${from} of ${log.join('\n')}`).not.toBe(-1)
    return index
  }
  const renames = log.filter(line => line.startsWith('rename ') && !line.endsWith(' done'))
  const lastSync = log.lastIndexOf('sync')
  expect(lastSync, 'a sync before the answer').not.toBe(-1)
  at('sync done', lastSync)
  expect(log.slice(0, lastSync)).toContain('commit done')
  for (const line of renames) {
    const [, temp, name = ''] = line.split(' ')
    const shard = name.slice(0, -'.data'.length).slice(-2)
    const renamed = at(line)
    expect(at(`write ${temp} done`)).toBeLessThan(at(`datasync ${temp}`))
    expect(at(`datasync ${temp} done`)).toBeLessThan(renamed)
    const synced = at(`syncDirectory ${shard} done`, at(`syncDirectory ${shard}`, at(`${line} done`)))
    const noted = at('commit done', at('commit', synced))
    expect(lastSync).toBeGreaterThan(at('commit done', at('commit', noted)))
  }
  return renames.length
}

async function* tree(): AsyncGenerator<DirectoryEntry> {
  yield { kind: 'file', path: 'large.bin', content: pseudoRandom(2_300_000, 'large') }
  yield { kind: 'file', path: 'middle.bin', content: pseudoRandom(50_000, 'middle') }
  for (let i = 0; i < 10; i++) yield { kind: 'file', path: `many/${i}`, content: pseudoRandom(200, i) }
}

describe('write order: data sync, rename, directory sync, durable, durable commit, answer', () => {
  test.each<[string, number, number]>([
    ['a small block', 100, 0],
    ['a block in a file', 50_000, 1],
    ['whole chunks', 2_500_000, 3],
  ])('an upload of %s', async (_, size, expected) => {
    await withRecording(async ({ engine, account, record }) => {
      const log = await record(() => engine.pins.upload(pseudoRandom(size, 'order'), { account }))
      expect(expectOrder(log)).toBe(expected)
    })
  })

  test('a file of one small block is one commit and one sync', async () => {
    await withRecording(async ({ engine, account, record }) => {
      for (const created of [true, false]) {
        const log = await record(async () => {
          const outcome = await engine.pins.upload(pseudoRandom(100, 'once'), { account })
          expect(outcome.created).toBe(created)
        })
        expect(log).toEqual(['commit', 'commit done', 'sync', 'sync done'])
        expect(await engine.verify()).toMatchObject({ blocks: 1, damagedBlocks: 0 })
      }
    })
  })

  test('a directory, and the same as a CAR in another engine', async () => {
    await withRecording(async ({ engine, account, record }) => {
      let cid = ''
      const log = await record(async () => {
        cid = (await engine.pins.uploadDirectory(tree(), { account })).record.cid
      })
      expect(expectOrder(log)).toBe(4)
      const car = await exported(engine, cid)
      await withRecording(async other => {
        const imported = await other.record(() =>
          other.engine.pins.importCar(streamOf(car), { account: other.account }),
        )
        expect(expectOrder(imported)).toBe(4)
      })
    })
  })

  test('pins, renames and deletions of content commit durably before their answer', async () => {
    await withRecording(async ({ engine, account, newAccount, record }) => {
      const { cid, uploadId } = (await engine.pins.upload(pseudoRandom(50_000, 'pinned'), { account })).record
      const other = await newAccount()
      for (const write of [
        () => engine.pins.pin({ account: other, cid }),
        () => engine.pins.rename({ account, uploadId, name: 'renamed' }),
        () => engine.pins.remove({ account, cid }),
      ]) {
        expect(expectOrder(await record(write))).toBe(0)
      }
    })
  })

  test('a collection: deleting durably, unlink, directory sync, row deleted', async () => {
    await withRecording(async ({ engine, account, record }) => {
      const { cid } = (await engine.pins.upload(pseudoRandom(50_000, 'collected'), { account })).record
      await engine.pins.remove({ account, cid })
      const log = await record(() => engine.collect({ graceSeconds: 0 }))
      const file = blockFileOf(CID.parse(cid))
      const [shard, name] = file.split('/')
      const unlinked = log.indexOf(`unlink ${name}`)
      const synced = log.indexOf(`syncDirectory ${shard}`)
      expect(log.slice(0, unlinked)).toContain('sync done')
      expect(synced).toBeGreaterThan(log.indexOf(`unlink ${name} done`))
      const commitsBetween = log.slice(unlinked, log.indexOf(`syncDirectory ${shard} done`)).filter(isCommit)
      expect(commitsBetween).toEqual([])
      expect(log.slice(log.indexOf(`syncDirectory ${shard} done`)).filter(isCommit).length).toBeGreaterThan(0)
    })
  })

  describe('a chunk written by a thread', () => {
    const written = (
      bytes: Uint8Array,
      fail: (call: string, flags: unknown) => string | undefined = () => undefined,
      log: string[] = [],
    ) => {
      let flags: unknown
      const note = (call: string): number => {
        log.push(call)
        const code = fail(call.split(' ')[0] ?? '', flags)
        if (code !== undefined) throw Object.assign(new Error(code), { code })
        return 1
      }
      const files: Record<keyof BlockingFiles, (...args: unknown[]) => unknown> = {
        openSync: (path, given) => {
          flags = given
          return note(`open ${path} ${given === DIRECT ? 'direct' : given}`)
        },
        writeSync: (_, all, offset) => {
          note(`write from ${offset}`)
          return Math.min(4_096, (all as Uint8Array).length - Number(offset))
        },
        fdatasyncSync: () => note('datasync'),
        closeSync: () => note('close'),
        renameSync: (from, to) => note(`rename ${from} ${to}`),
      }
      writeBlock(files as unknown as BlockingFiles, 'temp', 'path', bytes)
      return log
    }
    const pages = ['write from 0', 'write from 4096', 'datasync', 'close']

    test('is synced before it is renamed', () => {
      const whole = ['write from 0', 'write from 4096', 'write from 8192', 'datasync', 'close', 'rename temp path']
      expect(written(new Uint8Array(8_193))).toEqual(['open temp w', ...whole])
    })

    test('bypasses the page cache in whole pages', needsLinux, () => {
      expect(written(new Uint8Array(8_192))).toEqual(['open temp direct', ...pages, 'rename temp path'])
    })

    test('uses the page cache if the file system requires it', needsLinux, () => {
      const bytes = new Uint8Array(8_192)
      const refusing = (refused: string) => (call: string, flags: unknown) =>
        call === refused && flags === DIRECT ? 'EINVAL' : undefined
      const rest = ['open temp w', ...pages, 'rename temp path']
      expect(written(bytes, refusing('open'))).toEqual(['open temp direct', ...rest])
      expect(written(bytes, refusing('write'))).toEqual(['open temp direct', 'write from 0', 'close', ...rest])
    })

    test('has no name after a failure', () => {
      const failures = { open: 'EACCES', write: 'ENOSPC', datasync: 'EIO' }
      for (const [failing, code] of Object.entries(failures)) {
        const log: string[] = []
        const fail = (call: string): string | undefined => (call === failing ? code : undefined)
        expect(() => written(new Uint8Array(8_192), fail, log)).toThrow(code)
        expect(log.filter(call => call.startsWith('rename'))).toEqual([])
      }
    })
  })

  test('directories: blocks, tmp and the shards have synced entries', async () => {
    const files = new RecordingFiles()
    await withEngine(
      async ({ dataDir }) => {
        const synced = files.log.filter(line => line.startsWith('syncDirectory ') && !line.endsWith(' done'))
        expect(synced).toContain('syncDirectory blocks')
        expect(synced).toContain(`syncDirectory ${join(dataDir).split('/').at(-1)}`)
      },
      { fileSystem: files },
    )
  })
})

function isCommit(line: string): boolean {
  return line === 'commit'
}
