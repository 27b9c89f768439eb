import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { appendFile, mkdir, rename, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import * as dagPb from '@ipld/dag-pb'
import { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import { resolveServerDirectory, type ServerEntry, walkServerDirectory } from '../../src/content/server-directory.ts'
import { bytesOfText } from '../../src/domain/byte-text.ts'
import type { DirectoryEntry, UploadOptions } from '../../src/index.ts'
import { collect, pseudoRandom, sha256Hex } from '../support/bytes.ts'
import { planOf } from '../support/plans.ts'
import { readBlock, readTree, viaGateway } from '../support/read-back.ts'
import { EMPTY, storeSizes } from '../support/store-inspection.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { type TestEngine, withEngine } from '../support/test-engine.ts'

const MiB = 1024 ** 2
const LONG_AGO = new Date('2020-01-01T00:00:00Z')

const FILES: Record<string, Buffer> = {
  '.hidden': pseudoRandom(10, 'hidden'),
  '.config/.deep/x': pseudoRandom(20, 'x'),
  'empty file': Buffer.alloc(0),
  'large.bin': pseudoRandom(2 * MiB + 33, 'large'),
  'sub/ü/e\u0301': pseudoRandom(300, 'e'),
  'sub/ü/\u00e9': pseudoRandom(301, 'é'),
}
const DIRECTORIES = ['nothing', 'sub/nothing/at all']
const LINKS: Record<string, string> = {
  'sub/link': '../large.bin',
  dangling: 'absent',
  outside: '/etc/passwd',
  loop: 'loop',
}

/** Returns the import root of the uploads by server path. */
function rootOf({ engine }: TestEngine): string {
  return engine.importRoots[0] ?? ''
}

async function makeTree(dir: string): Promise<void> {
  for (const [path, content] of Object.entries(FILES)) {
    await mkdir(join(dir, dirname(path)), { recursive: true })
    await writeFile(join(dir, path), content)
  }
  for (const path of DIRECTORIES) await mkdir(join(dir, path), { recursive: true })
  for (const [path, target] of Object.entries(LINKS)) await symlink(target, join(dir, path))
}

async function* treeEntries(): AsyncGenerator<DirectoryEntry> {
  for (const [path, target] of Object.entries(LINKS)) yield { kind: 'symlink', path, target }
  for (const [path, content] of Object.entries(FILES)) yield { kind: 'file', path, content }
  for (const path of DIRECTORIES) yield { kind: 'directory', path }
}

function importFrom({ engine, account }: TestEngine, path: string, options: Partial<UploadOptions> = {}) {
  return engine.pins.importDirectory(path, { account, ...options })
}

async function refusalOf(work: Promise<unknown>): Promise<{ code?: string; message?: string }> {
  try {
    await work
  } catch (error) {
    return error as Error
  }
  throw new Error('was not refused')
}

/** Both ways to reach entries: by open directories, if the system has them, and by path. */
const WAYS = existsSync('/proc/self/fd') ? [true, false] : [false]

/** Walks a directory, stops at each entry below it, and reads the files. Returns their content by path. */
async function walk(
  dir: string,
  at: (entry: ServerEntry) => Promise<void> | void,
  byHandle?: boolean,
): Promise<Record<string, string>> {
  const files: Record<string, string> = {}
  for await (const entry of walkServerDirectory({ root: dir, names: [] }, byHandle)) {
    if (entry.names.length > 0) await at(entry)
    if (entry.kind === 'file') files[entry.names.join('/')] = (await collect(entry.content)).toString()
  }
  return files
}

/** Replaces a directory, which stays beside it, by a link to `outside`. */
async function swap(directory: string, outside: string): Promise<void> {
  await rename(directory, `${directory}-before`)
  await symlink(outside, directory)
}

const PROVIDER = { issuer: 'https://id.example.org', clientId: 'a', redirectUri: 'https://pins.example.org/console/' }

describe('a directory on the server', () => {
  test('is stored whole, with the CID of an upload', async () => {
    await withEngine(async test => {
      await makeTree(join(rootOf(test), 'tree'))
      const { record, files, totalFiles } = await importFrom(test, 'tree')
      expect(record).toMatchObject({ type: 'directory', name: 'tree' })
      expect(totalFiles).toBe(Object.keys(FILES).length)
      expect(files.map(file => file.path).sort()).toEqual(Object.keys(FILES).sort())
      const uploaded = await test.engine.pins.uploadDirectory(treeEntries(), { account: test.account })
      expect(uploaded.record.cid).toBe(record.cid)
      expect(uploaded.record.size).toBe(record.size)
      expect(record.size).toBe(Object.values(FILES).reduce((sum, { length }) => sum + length, 0))
      const tree = await readTree(await test.engine.clusters.backendOf(), record.cid)
      expect(tree).toMatchObject({
        ...Object.fromEntries(Object.entries(FILES).map(([path, content]) => [path, sha256Hex(content)])),
        ...Object.fromEntries(Object.entries(LINKS).map(([path, target]) => [path, `-> ${target}`])),
        ...Object.fromEntries(DIRECTORIES.map(path => [path, 'dir'])),
      })
      expect(Object.keys(tree)).toHaveLength(17)
    })
  })

  test('stores links without following them', async () => {
    await withEngine(async test => {
      await withTempDir(async outside => {
        await writeFile(join(outside, 'secret'), 'a secret of the server')
        await mkdir(join(rootOf(test), 'tree'))
        await symlink(join(outside, 'secret'), join(rootOf(test), 'tree', 'file'))
        await symlink(outside, join(rootOf(test), 'tree', 'directory'))
        const { record } = await importFrom(test, 'tree')
        expect(await readTree(await test.engine.clusters.backendOf(), record.cid)).toEqual({
          file: `-> ${join(outside, 'secret')}`,
          directory: `-> ${outside}`,
        })
        const { bytes } = await viaGateway(test.engine, `/ipfs/${record.cid}/directory/secret`)
        expect(bytes.toString()).not.toContain('a secret')
      })
    })
  })

  test('outside, missing or not a directory is the same refusal', async () => {
    await withEngine(async test => {
      await withTempDir(async outside => {
        const root = rootOf(test)
        await makeTree(join(root, 'tree'))
        await mkdir(join(test.dataDir, 'import-too'))
        await mkdir(join(outside, 'dir'))
        await symlink(outside, join(root, 'way-out'))
        const wrong = [
          ...[
            '..',
            '../..',
            '../blocks',
            'tree/../..',
            `${root}/../blocks`,
            '../import-too',
            '/',
            '/etc',
            test.dataDir,
          ],
          ...[outside, 'way-out', 'way-out/dir', 'absent', 'tree/large.bin', 'tree/dangling', 'tree/loop', ''],
          ...[`${root}-too`, 'tree/large.bin/x', '~', 'file:///etc'],
        ]
        const refusals = await Promise.all(wrong.map(path => refusalOf(importFrom(test, path))))
        expect(refusals.map(({ code }) => code)).toEqual(wrong.map(() => 'INVALID_PATH'))
        expect(new Set(refusals.map(({ message }) => message)).size).toBe(1)
        expect(refusals[0]?.message).toContain('dirPath')
        expect(await refusalOf(importFrom(test, 'tree\0'))).toMatchObject({ code: 'VALIDATION' })
        expect(await storeSizes(test.dataDir)).toEqual(EMPTY)
      })
    })
  })

  test('can be relative, absolute, or a link within a root', async () => {
    await withTempDir(async dir => {
      const roots = [join(dir, 'one'), join(dir, 'two')]
      for (const root of roots) await makeTree(join(root, 'tree'))
      await writeFile(join(dir, 'two', 'tree', 'more'), 'more')
      await symlink(join(dir, 'two', 'tree'), join(dir, 'one', 'link'))
      await withEngine(
        async test => {
          const cidOf = async (path: string): Promise<string> => (await importFrom(test, path)).record.cid
          const [one, two] = [await cidOf('tree'), await cidOf(join(dir, 'two', 'tree'))]
          expect(one).not.toBe(two)
          expect(await cidOf('./tree/sub/../')).toBe(one)
          expect(await cidOf(join(dir, 'one', 'tree'))).toBe(one)
          expect(await cidOf('link')).toBe(two)
          expect((await importFrom(test, '.')).record.name).toBe('one')
        },
        { importRoots: roots },
      )
    })
  })

  test('keeps names byte for byte', async () => {
    await withEngine(async test => {
      const names = [
        'back\\slash',
        'new\nline',
        ' spaces ',
        '100%',
        '%2F',
        '\u{1F600}',
        '-',
        '...',
        '#?&',
        '"quoted"',
        "o'clock",
      ]
      await mkdir(join(rootOf(test), 'tree', 'a\\b'), { recursive: true })
      for (const name of names) await writeFile(join(rootOf(test), 'tree', 'a\\b', name), name)
      const { record } = await importFrom(test, 'tree')
      const expected = Object.fromEntries(names.map(name => [`a\\b/${name}`, sha256Hex(Buffer.from(name))]))
      expect(await readTree(await test.engine.clusters.backendOf(), record.cid)).toEqual({ 'a\\b': 'dir', ...expected })
      const listed = await test.engine.pins.list({ account: test.account, parentCid: record.cid, limit: 100 })
      expect(listed.items.map(item => item.path).sort()).toEqual(Object.keys(expected).sort())
    })
  })

  test.each(WAYS)('keeps names and targets that are not UTF-8 (by handle: %s)', byHandle =>
    withTempDir(async dir => {
      const below = Buffer.concat([Buffer.from(`${dir}/d`), Buffer.from([0xff])])
      await mkdir(below)
      for (const byte of [0xe8, 0xe9]) await writeFile(Buffer.concat([below, Buffer.from([0x2f, byte])]), `${byte}`)
      await symlink(Buffer.from([0xe9]), join(dir, 'link'))
      const targets: string[] = []
      const files = await walk(dir, entry => void (entry.kind === 'symlink' && targets.push(entry.target)), byHandle)
      expect(files).toEqual({ 'd\uefff/\uefe8': '232', 'd\uefff/\uefe9': '233' })
      expect(targets).toEqual(['\uefe9'])
    }),
  )

  test('imports every name and target as bytes, from a path of bytes', () =>
    withEngine(async test => {
      const tree = Buffer.concat([Buffer.from(`${rootOf(test)}/t`), Buffer.from([0xff])])
      await mkdir(tree, { recursive: true })
      const names = Array.from({ length: 255 }, (_, i) => Buffer.from([i + 1, 0xff, i + 1])).filter(
        name => !name.includes(0x2f),
      )
      for (const name of names) await writeFile(Buffer.concat([tree, Buffer.from('/'), name]), 'x')
      await symlink(Buffer.from([0xe9]), Buffer.concat([tree, Buffer.from('/link')]))
      const { record, totalFiles } = await importFrom(test, 't\uefff')
      expect([record.name, totalFiles]).toEqual(['t\uefff', names.length])
      const { Links } = dagPb.decode(await readBlock(test.engine, CID.parse(record.cid)))
      expect(Links).toHaveLength(names.length + 1)
      const listed = await test.engine.pins.list({ account: test.account, parentCid: record.cid, limit: 300 })
      const paths = listed.items.map(({ path }) => Buffer.from(bytesOfText(path ?? '')).toString('hex'))
      expect(paths.toSorted()).toEqual(names.map(name => name.toString('hex')).toSorted())
    }))

  test('with a pipe or a socket is refused, and leaves nothing', async () => {
    await withEngine(async test => {
      const dir = join(rootOf(test), 'tree')
      await mkdir(join(dir, 'sub'), { recursive: true })
      await writeFile(join(dir, 'before'), pseudoRandom(2 * MiB, 'before'))
      execFileSync('mkfifo', [join(dir, 'sub', 'pipe')])
      await expect(importFrom(test, 'tree')).rejects.toMatchObject({
        code: 'INVALID_PATH',
        message: expect.stringMatching(/"sub\/pipe".*pipe/),
      })
      await rm(join(dir, 'sub', 'pipe'))
      const server = createServer().listen(join(dir, 'sub', 'talk'))
      await once(server, 'listening')
      await expect(importFrom(test, 'tree')).rejects.toMatchObject({
        code: 'INVALID_PATH',
        message: expect.stringMatching(/"sub\/talk".*socket/),
      })
      server.close()
      await test.engine.collect({ graceSeconds: 0 })
      expect(await storeSizes(test.dataDir)).toEqual(EMPTY)
    })
  })

  test.each<[string, (file: string, dir: string) => Promise<unknown>]>([
    ['grows', file => appendFile(file, 'more')],
    ['shrinks', file => truncate(file, 2 * MiB)],
    ['is written to', file => writeFile(file, pseudoRandom(3 * MiB, 'other'), { flag: 'r+' })],
  ])('with a file that %s during its read is refused', async (_, change) => {
    await withTempDir(async dir => {
      const file = join(dir, 'file')
      await writeFile(file, pseudoRandom(3 * MiB, 'file'))
      await utimes(file, LONG_AGO, LONG_AGO)
      const reading = walk(dir, async entry => {
        if (entry.kind !== 'file') return
        const pieces = entry.content[Symbol.asyncIterator]()
        await pieces.next()
        await change(file, dir)
        for (let piece = await pieces.next(); piece.done !== true; piece = await pieces.next()) {}
      })
      await expect(reading).rejects.toMatchObject({
        code: 'INVALID_PATH',
        message: expect.stringContaining('"file" changed'),
      })
    })
  })

  test.each<[string, (dir: string, outside: string) => Promise<unknown>]>([
    ['a link', async (dir, outside) => symlink(join(outside, 'secret'), join(dir, 'entry'))],
    ['another file', async (dir, outside) => rename(join(outside, 'secret'), join(dir, 'entry'))],
    ['a pipe', async dir => execFileSync('mkfifo', [join(dir, 'entry')])],
    ['nothing', async () => undefined],
  ])('with %s in the place of a file is refused', async (_, replace) => {
    await withTempDir(dir =>
      withTempDir(async outside => {
        await writeFile(join(outside, 'secret'), 'a secret')
        await writeFile(join(dir, 'entry'), 'harmless')
        const reading = walk(dir, async () => {
          await rm(join(dir, 'entry'))
          await replace(dir, outside)
        })
        await expect(reading).rejects.toMatchObject({
          code: 'INVALID_PATH',
          message: expect.stringContaining('"entry"'),
        })
      }),
    )
  })

  test('replaced by a link is not walked', async () => {
    await withTempDir(dir =>
      withTempDir(async outside => {
        await writeFile(join(outside, 'secret'), 'a secret')
        await mkdir(join(dir, 'sub'))
        const seen: string[] = []
        const reading = walk(dir, async entry => {
          seen.push(entry.names.join('/'))
          await rm(join(dir, 'sub'), { recursive: true })
          await symlink(outside, join(dir, 'sub'))
        })
        await expect(reading).rejects.toMatchObject({ code: 'INVALID_PATH' })
        expect(seen).toEqual(['sub'])
      }),
    )
  })

  test.each(WAYS)('replaced by a link during a read exposes nothing (by handle: %s)', byHandle =>
    withTempDir(dir =>
      withTempDir(async outside => {
        const names = Array.from({ length: 40 }, (_, i) => `file ${i}`)
        await mkdir(join(dir, 'sub', 'deep'), { recursive: true })
        for (const name of names) {
          await writeFile(join(dir, 'sub', name), 'harmless')
          await writeFile(join(outside, name), 'a secret')
        }
        await mkdir(join(outside, 'deep'))
        await writeFile(join(outside, 'deep', 'file'), 'a secret')
        const read: string[] = []
        let swapped = false
        const reading = walk(
          dir,
          async entry => {
            if (entry.kind !== 'file') return
            const pieces = entry.content[Symbol.asyncIterator]()
            const first = await pieces.next()
            // The next file of the walk is in a directory that is a link by now.
            if (!swapped) await swap(join(dir, 'sub'), outside)
            swapped = true
            if (first.done !== true) read.push(Buffer.from(first.value).toString())
            for (let piece = await pieces.next(); piece.done !== true; piece = await pieces.next()) {}
          },
          byHandle,
        )
        if (byHandle) expect(Object.keys(await reading)).toHaveLength(names.length)
        else await expect(reading).rejects.toMatchObject({ code: 'INVALID_PATH' })
        expect(new Set(read)).toEqual(new Set(['harmless']))
      }),
    ),
  )

  test.each(WAYS)('behind a link from the import root is refused (by handle: %s)', byHandle =>
    withTempDir(dir =>
      withTempDir(async outside => {
        await mkdir(join(dir, 'one', 'two'), { recursive: true })
        await mkdir(join(outside, 'two'))
        await writeFile(join(outside, 'two', 'secret'), 'a secret')
        const found = await resolveServerDirectory([dir], 'one/two')
        await swap(join(dir, 'one'), outside)
        const entries = walkServerDirectory(found, byHandle)
        await expect(entries.next()).rejects.toMatchObject({ code: 'INVALID_PATH' })
      }),
    ),
  )

  test('leaves no file open after an end, a failure or an abort', () =>
    withTempDir(async dir => {
      await mkdir(join(dir, ...Array.from({ length: 20 }, () => 'deeper')), { recursive: true })
      await writeFile(join(dir, 'deeper', 'file'), 'x')
      const open = (): number => (WAYS.length === 1 ? 0 : readdirSync('/proc/self/fd').length)
      const before = open()
      await walk(dir, () => undefined)
      await expect(walk(dir, () => Promise.reject(new Error('enough')))).rejects.toThrow('enough')
      for await (const entry of walkServerDirectory({ root: dir, names: [] })) if (entry.names.length === 9) break
      expect(open()).toBe(before)
    }))

  test('with 257 nested directories is refused', () =>
    withTempDir(async dir => {
      const names = Array.from({ length: 257 }, () => 'd')
      await mkdir(join(dir, ...names.slice(1)), { recursive: true })
      let seen = 0
      await walk(dir, () => void seen++)
      expect(seen).toBe(256)
      await mkdir(join(dir, ...names))
      await expect(walk(dir, () => undefined)).rejects.toMatchObject({
        code: 'INVALID_PATH',
        message: expect.stringContaining('over 256 directories deep'),
      })
    }))

  test.each<[string, object, number]>([
    ['without sign-up', {}, 0],
    ['with sign-up onto a plan that imports', { signup: { enabled: true } }, 1],
    ['with sign-up onto one that does not', { signup: { enabled: true, plan: 'remote' } }, 0],
    ['with sign-up and no import roots', { signup: { enabled: true }, importRoots: [] }, 0],
    ['with a provider onto a plan that imports', { oidc: PROVIDER }, 1],
    ['with a provider onto one that does not', { oidc: { ...PROVIDER, plan: 'remote' } }, 0],
    ['with a provider and no import roots', { oidc: PROVIDER, importRoots: [] }, 0],
  ])('logs at the start who may read the import roots, %s', async (_, config, count) => {
    const told: Array<[object, string]> = []
    const ignore = (): void => undefined
    const logger = { debug: ignore, info: ignore, warn: (...line: [object, string]) => told.push(line), error: ignore }
    const plans = { remote: planOf({ serverImport: false }) }
    await withEngine(async () => undefined, { ...config, plans, logger })
    expect(told.filter(([, text]) => text.includes('read every file in the import roots'))).toHaveLength(count)
  })

  test('is limited by the plan', async () => {
    await withEngine(
      async test => {
        const account = await test.newAccount('small')
        await makeTree(join(rootOf(test), 'tree'))
        await writeFile(join(rootOf(test), 'tree', 'one too many'), '')
        const limited = { ...test, account }
        expect((await refusalOf(importFrom(limited, 'tree'))).code).toMatch(/TOO_LARGE$/)
        await rm(join(rootOf(test), 'tree', 'one too many'))
        await expect(importFrom(limited, 'tree')).rejects.toMatchObject({ code: 'FILE_TOO_LARGE' })
        await rm(join(rootOf(test), 'tree', 'large.bin'))
        expect((await importFrom(limited, 'tree')).created).toBe(true)
      },
      { plans: { small: planOf({ maxDirectoryFiles: 6, maxFileBytes: 2 * MiB }) } },
    )
  })

  test('ends with its signal', async () => {
    await withEngine(async test => {
      await makeTree(join(rootOf(test), 'tree'))
      const controller = new AbortController()
      const onProgress = (): void => controller.abort()
      const refusal = importFrom(test, 'tree', { signal: controller.signal, onProgress })
      await expect(refusal).rejects.toMatchObject({ code: 'ABORTED' })
      await test.engine.collect({ graceSeconds: 0 })
      expect(await storeSizes(test.dataDir)).toEqual(EMPTY)
    })
  })
})
