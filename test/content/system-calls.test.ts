import { execFile, spawnSync } from 'node:child_process'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import SqliteDatabase from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { migrations } from '../../src/storage/migrations.ts'
import { needs } from '../support/needs.ts'
import { withTempDir } from '../support/temp-dir.ts'

const CHILD = join(import.meta.dirname, '..', 'support', 'writing-child.ts')
const CALLS = 'write,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat'
const canTrace = spawnSync('strace', ['-f', '-e', 'trace=fsync', 'true']).status === 0

/**
 * Returns system calls in the order of their ends: `sync <path>` (of data or all), `rename <from> <to>`, `write <what>`
 * to the output. Leaves out those of the ballast and of the probe, which run beside all else.
 */
async function callsOf(dir: string, dataDir: string): Promise<string[]> {
  const output = join(dir, 'calls')
  const args = ['-f', '-y', '-s', '64', '-o', output, '-e', `trace=${CALLS}`, process.execPath, CHILD, dataDir]
  await promisify(execFile)('strace', args, { timeout: 60_000 })
  const begun = new Map<string, string>()
  const calls: string[] = []
  for (const line of (await readFile(output, 'utf8')).split('\n')) {
    const [, thread = '', rest = ''] = /^(\d+)\s+(.*)$/.exec(line) ?? []
    if (rest.endsWith('<unfinished ...>')) begun.set(thread, rest.slice(0, -'<unfinished ...>'.length))
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest)
    const whole = resumed === null ? rest : `${begun.get(thread) ?? ''}${resumed[1]}`
    if (!rest.endsWith('<unfinished ...>') && / = \d+/.test(whole)) calls.push(told(whole, dataDir))
  }
  return calls.filter(call => !/ ballast$|\/\.probe$/.test(call))
}

/** Returns a call with its paths relative to the data directory. */
function told(call: string, dataDir: string): string {
  const name =
    /^\w+/
      .exec(call)?.[0]
      .replace(/at2?$/, '')
      .replace(/^f(data)?sync$/, 'sync') ?? ''
  const file = /^\w+\(\d+<([^>]*)>/.exec(call)?.[1]
  const quoted = [...call.matchAll(/"([^"]*)"/g)].map(match => match[1] ?? '')
  const isOutput = name === 'write' && /^write\(1</.test(call)
  const words = isOutput ? quoted : file === undefined || name === 'unlink' || name === 'rename' ? quoted : [file]
  return [name, ...words.map(word => word.replace(`${dataDir}/`, '').replace('\\n', ''))].join(' ')
}

describe('system calls of a write', needs(canTrace, 'there is no strace, or it may not trace'), () => {
  test('are in the order that survives a power cut', async () => {
    await withTempDir(async dir => {
      const dataDir = join(dir, 'data')
      const calls = await callsOf(dir, dataDir)
      const during = (name: string): string[] =>
        calls.slice(calls.indexOf(`write begin ${name}`) + 1, calls.indexOf(`write answer ${name}`))
      expect(during('small').filter(call => call.startsWith('sync '))).toEqual(['sync holdfast.db-wal'])
      for (const [name, files] of [
        ['file', 1],
        ['chunks', 3],
      ] as const) {
        expect(expectWritten(during(name))).toBe(files)
      }
      const collecting = during('collection')
      const unlinked = collecting.findIndex(call => /^unlink blocks\//.test(call))
      const [, shard] = /^unlink (blocks\/..)/.exec(collecting[unlinked] ?? '') ?? []
      expect(collecting.slice(0, unlinked)).toContain('sync holdfast.db-wal')
      expect(collecting.indexOf(`sync ${shard}`)).toBeGreaterThan(unlinked)
      // The entries of the data directory and of its `blocks`.
      expect(calls).toContain(`sync ${dir}`)
      const start = calls.slice(0, calls.indexOf('write begin small'))
      expect(start).toContain(`sync ${dataDir}`)
      expectReplaced(start, 'data.key', dataDir)
      // The key is on the disk before the database has its id.
      expect(start.lastIndexOf('sync holdfast.db-wal')).toBeGreaterThan(start.indexOf('rename data.key.new data.key'))
    })
  })

  test('do not tell that others have private content', async () => {
    await withTempDir(async dir => {
      const calls = await callsOf(dir, join(dir, 'data'))
      const during = (name: string): string[] =>
        calls
          .slice(calls.indexOf(`write begin ${name}`) + 1, calls.indexOf(`write answer ${name}`))
          .map(call => call.replace(/(tmp|blocks)\/\S+/g, '$1/…'))
          // Threads also write to each other, and a checkpoint may come at any time.
          .filter(call => / (tmp\/|blocks\/|holdfast\.db-wal)/.test(call))
          .toSorted()
      for (const size of [101, 50_001, 2_500_001]) {
        expect(during(`absent ${size}`).filter(call => call.startsWith('sync ')).length).toBeGreaterThan(0)
        expect(during(`hidden ${size}`)).toEqual(during(`absent ${size}`))
      }
    })
  })

  test('keep the old database on the disk before a migration', async () => {
    await withTempDir(async dir => {
      const dataDir = join(dir, 'data')
      await mkdir(dataDir)
      const old = new SqliteDatabase(join(dataDir, 'holdfast.db'))
      old.exec(migrations[0] ?? '')
      old.pragma('user_version = 1')
      old.close()
      const calls = await callsOf(dir, dataDir)
      expectReplaced(calls, 'holdfast.db.schema-1', dataDir, 'part')
      expect(calls.indexOf('sync holdfast.db-wal')).toBeGreaterThan(
        calls.indexOf('rename holdfast.db.schema-1.part holdfast.db.schema-1'),
      )
    })
  })
})

/** Checks that a file was synced before its rename, and its directory after it. */
function expectReplaced(calls: readonly string[], name: string, dataDir: string, suffix = 'new'): void {
  const written = calls.indexOf(`sync ${name}.${suffix}`)
  const renamed = calls.indexOf(`rename ${name}.${suffix} ${name}`)
  expect(written).toBeGreaterThan(-1)
  expect(renamed).toBeGreaterThan(written)
  expect(calls.slice(renamed + 1).find(call => call.startsWith('sync '))).toBe(`sync ${dataDir}`)
}

/** Checks each renamed block. Returns their number. */
function expectWritten(calls: readonly string[]): number {
  const renames = calls.filter(call => /^rename tmp\/\S+ blocks\//.test(call))
  const committed = calls.lastIndexOf('sync holdfast.db-wal')
  for (const call of renames) {
    const [, temp, to = ''] = call.split(' ')
    const renamed = calls.indexOf(call)
    const written = calls.indexOf(`sync ${temp}`)
    const entered = calls.indexOf(`sync ${to.slice(0, 'blocks/XX'.length)}`, renamed)
    expect(written).toBeGreaterThan(-1)
    expect(written).toBeLessThan(renamed)
    expect(entered).toBeGreaterThan(renamed)
    expect(committed).toBeGreaterThan(entered)
  }
  return renames.length
}
