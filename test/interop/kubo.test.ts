import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createEngine, type Engine } from '../../src/index.ts'
import { pseudoRandom, sha256Hex } from '../support/bytes.ts'
import { needs } from '../support/needs.ts'
import { newDirectory } from '../support/new-database.ts'
import { readFile, readTree } from '../support/read-back.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { withEngine } from '../support/test-engine.ts'
import { findKubo, type Kubo, withKubo } from './kubo.ts'

const binary = findKubo()
const kubo = binary ?? ''
const isHeavy = (process.env.HOLDFAST_TEST_HEAVY ?? '') !== ''
const MiB = 1024 ** 2
const LONGEST_MS = 180_000

const options = {
  timeout: LONGEST_MS,
  ...needs(binary !== null, 'there is no "ipfs" on PATH, and HOLDFAST_TEST_IPFS names none'),
}

/** Yields `size` pseudo-random bytes in pieces, so that they are never in memory at once. */
function* generated(size: number): Generator<Uint8Array> {
  const piece = pseudoRandom(MiB, 'generated')
  for (let at = 0; at < size; at += piece.length) {
    piece.writeUInt32LE(at / MiB)
    yield Uint8Array.from(piece.subarray(0, Math.min(piece.length, size - at)))
  }
}

function writeTree(dir: string, files: Record<string, Uint8Array>): void {
  for (const [path, bytes] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), bytes)
  }
}

async function importTree(engine: Engine, account: string, dirPath: string): Promise<string> {
  return (await engine.pins.importDirectory(dirPath, { account })).record.cid
}

/** Returns the CIDs that the engine and Kubo give to the same directory, the engine's first. */
async function bothCids(other: Kubo, write: (dir: string) => void): Promise<[string, string]> {
  return withEngine(async ({ engine, account }) => {
    const dir = join(engine.importRoots[0] ?? '', 'tree')
    mkdirSync(dir)
    write(dir)
    const theirs = await other.run('add', '--recursive', '--hidden', '--quieter', '--only-hash', dir)
    return [await importTree(engine, account, 'tree'), theirs]
  })
}

function withNetwork<T>(use: (engine: Engine, account: string) => Promise<T>): Promise<T> {
  return withTempDir(async dataDir => {
    const engine = await createEngine({
      dataDir: newDirectory(dataDir),
      network: { enabled: true, allowPrivateGateways: true },
    })
    try {
      const { id } = await engine.accounts.create({ email: 'a@example.org', plan: 'unlimited' })
      return await use(engine, id)
    } finally {
      await engine.stop()
    }
  })
}

describe('Kubo under the profile unixfs-v1-2025', options, () => {
  const sizes: Array<[string, number]> = [
    ['0 B', 0],
    ['1 B', 1],
    ['1 MiB', MiB],
    ['1 MiB + 1', MiB + 1],
    ['9 MiB + 7', 9 * MiB + 7],
    ...(isHeavy ? [['1 GiB + 1', 1024 * MiB + 1] as [string, number]] : []),
  ]

  test.each(sizes)('gives a file of %s the same CID', (_, size) =>
    withKubo(kubo, other =>
      withEngine(async ({ engine, account }) => {
        const theirs = await other.feed(generated(size), 'add', '--quieter', '--only-hash')
        expect((await engine.pins.upload(generated(size), { account })).record.cid).toBe(theirs)
      }),
    ),
  )

  // A link to one byte under such a name takes 55 bytes. A directory's block is sharded above 262,144 bytes.
  test.each([
    [4_766, 'plain'],
    [4_767, 'sharded'],
    [6_000, 'sharded'],
  ])('gives a directory of %i files, %s, the same CID', count =>
    withKubo(kubo, async other => {
      const names = Array.from({ length: count }, (_, i) => `name-${String(i).padStart(6, '0')}`)
      const [ours, theirs] = await bothCids(other, dir =>
        writeTree(dir, Object.fromEntries(names.map(name => [name, Buffer.from('x')]))),
      )
      expect(ours).toBe(theirs)
    }),
  )

  test('gives directories of many sub-directories the same CID', () =>
    withKubo(kubo, async other => {
      for (const count of [300, 4_700, 4_800]) {
        const [ours, theirs] = await bothCids(other, dir => {
          for (let i = 0; i < count; i++) mkdirSync(join(dir, `folder-${String(i).padStart(6, '0')}`))
          writeTree(dir, { 'folder-000007/below/it/a file': Buffer.from('deep') })
        })
        expect(ours, `${count}`).toBe(theirs)
      }
    }))

  test('gives names of all scripts, hidden files and links the same CID', () =>
    withKubo(kubo, async other => {
      const names = [
        'ünïcödé',
        'unüblich',
        'Ελλάδα',
        'Привет',
        'שלום',
        'مرحبا',
        'नमस्ते',
        '日本語 テスト',
        '한국어',
        '🙂👩‍👩‍👧',
      ]
      const [ours, theirs] = await bothCids(other, dir => {
        writeTree(dir, {
          ...Object.fromEntries(names.map((name, i) => [`${name}/${name}.txt`, pseudoRandom(i * 10, name)])),
          ...{ '.hidden': Buffer.from('h'), '.hidden folder/.x': Buffer.from('x'), ' space ': Buffer.from(' ') },
          ...{ 'a%20b': Buffer.from('%'), 'a+b&c=d;e': Buffer.from('+'), 'quote\'s "double"': Buffer.from('"') },
          ...{
            'e\u0301': Buffer.from('decomposed'),
            '\u00e9': Buffer.from('composed'),
            'back\\slash': Buffer.from('\\'),
          },
          ...{ 'large.bin': pseudoRandom(2 * MiB + 3, 'large'), 'no bytes': Buffer.alloc(0) },
        })
        mkdirSync(join(dir, 'empty/below/empty'), { recursive: true })
        symlinkSync('../elsewhere/äöü', join(dir, 'link'))
      })
      expect(ours).toBe(theirs)
    }))
})

describe('Kubo and an engine', options, () => {
  const content = pseudoRandom(5 * MiB + 11, 'between two')
  const files = Object.fromEntries(
    Array.from({ length: 300 }, (_, i) => [`folder ${i % 7}/ñandú ${i}`, pseudoRandom(i * 13, `file ${i}`)]),
  )

  test('Kubo pins from the engine', () =>
    withNetwork((engine, account) =>
      withKubo(kubo, async other => {
        await other.start()
        const { record } = await engine.pins.upload(content, { account })
        const entries = async function* () {
          for (const [path, bytes] of Object.entries(files)) yield { kind: 'file', path, content: bytes } as const
        }
        const tree = await engine.pins.uploadDirectory(entries(), { account })
        await other.run('swarm', 'connect', (await engine.addresses())[0] ?? '')
        for (const cid of [record.cid, tree.record.cid]) await other.run('pin', 'add', '--progress=false', cid)
        await engine.stop()
        expect(await other.run('pin', 'ls', '--type=recursive', '--quiet')).toContain(tree.record.cid)
        expect(await other.run('repo', 'verify')).toContain('verify complete')
        const shown = await other.run('ls', '--size=false', `${tree.record.cid}/folder 3`)
        expect(shown.split('\n').length).toBe(43)
      }),
    ))

  test('the engine pins from Kubo, also content of the old profile', () =>
    withNetwork((engine, account) =>
      withKubo(kubo, async other => {
        await other.start()
        const large = await other.feed([content], 'add', '--quieter')
        const old = await other.feed([content], 'add', '--quieter', '--cid-version=0', '--chunker=size-262144')
        expect(old).toMatch(/^Qm/)
        const dir = join(engine.importRoots[0] ?? '', 'tree')
        writeTree(dir, files)
        const tree = await other.run('add', '--recursive', '--quieter', dir)
        const cbor = await other.feed(
          [Buffer.from(JSON.stringify({ file: { '/': large }, list: [1, 'two'] }))],
          'dag',
          'put',
        )
        const origins = [await other.address()]
        for (const cid of [large, old, tree, cbor]) {
          const { record } = await engine.pins.pin({ account, cid, origins })
          expect(record, cid).toMatchObject({ status: 'pinned', cid })
        }
        await other.stop()
        const backend = await engine.clusters.backendOf()
        for (const cid of [large, old]) expect(sha256Hex(await readFile(backend, cid))).toBe(sha256Hex(content))
        const read = await readTree(backend, tree)
        for (const [path, bytes] of Object.entries(files)) expect(read[path], path).toBe(sha256Hex(bytes))
        expect(await importTree(engine, account, 'tree')).toBe(tree)
        expect((await engine.verify()).damaged).toEqual([])
      }),
    ))

  test('the engine learns at once that Kubo lacks a block', () =>
    withNetwork((engine, account) =>
      withKubo(kubo, async other => {
        await other.start()
        const cid = await other.feed([Buffer.from('not kept')], 'add', '--quieter', '--only-hash')
        const pinning = engine.pins.pin({ account, cid, origins: [await other.address()] })
        await expect(pinning).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
      }),
    ))
})
