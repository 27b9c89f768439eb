import { join } from 'node:path'
import * as dagPb from '@ipld/dag-pb'
import { BlackHoleBlockstore } from 'blockstore-core'
import { FsBlockstore } from 'blockstore-fs'
import { UnixFS } from 'ipfs-unixfs'
import { type ImportCandidate, importer } from 'ipfs-unixfs-importer'
import { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import type { DirectoryEntry } from '../../../src/index.ts'
import { collect, pseudoRandom, sha256Hex } from '../../support/bytes.ts'
import { dagBytes, readBlock, readFile, readTree } from '../../support/read-back.ts'
import { filesIn } from '../../support/temp-dir.ts'
import { type TestEngine, withEngine } from '../../support/test-engine.ts'

const MiB = 1024 ** 2
/** Limit of a directory block in bytes; above it the directory becomes a HAMT. */
const HAMT_THRESHOLD = 256 * 1024

/** Returns the CID of the reference importer under the profile. */
async function referenceCid(candidates: Iterable<ImportCandidate>, wrapWithDirectory: boolean): Promise<string> {
  let root = ''
  const options = { profile: 'unixfs-v1-2025', wrapWithDirectory } as const
  for await (const { cid } of importer(candidates, new BlackHoleBlockstore(), options)) root = cid.toString()
  return root
}

async function* entriesOf(files: Record<string, Uint8Array>): AsyncGenerator<DirectoryEntry> {
  for (const [path, content] of Object.entries(files)) yield { kind: 'file', path, content }
}

function referenceOf(files: Record<string, Uint8Array>): Promise<string> {
  return referenceCid(
    Object.entries(files).map(([path, content]) => ({ path, content })),
    true,
  )
}

async function uploadTree(test: TestEngine, files: Record<string, Uint8Array>): Promise<string> {
  const { record } = await test.engine.pins.uploadDirectory(entriesOf(files), { account: test.account })
  return record.cid
}

async function rootKind(test: TestEngine, cid: string): Promise<string> {
  const { Data } = dagPb.decode(await readBlock(test.engine, CID.parse(cid)))
  return UnixFS.unmarshal(Data ?? new Uint8Array()).type
}

/** Names of 11 characters: a link to one byte under such a name takes 55 bytes of the directory block. */
function names(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `name-${String(i).padStart(6, '0')}`)
}

describe('UnixFS', () => {
  test.each([
    ['no bytes', 0],
    ['one byte', 1],
    ['one chunk less one', MiB - 1],
    ['one chunk', MiB],
    ['one chunk and a byte', MiB + 1],
    ['three chunks', 3 * MiB],
  ])("a file of %s has the profile's CID and reads back", async (_, size) => {
    await withEngine(async ({ engine, account }) => {
      const content = pseudoRandom(size, size)
      const { record } = await engine.pins.upload([content.subarray(0, 7), content.subarray(7)], { account })
      expect(record.cid).toBe(await referenceCid([{ content }], false))
      expect(record.size).toBe(size)
      const backend = await engine.clusters.backendOf()
      expect(Buffer.compare(await readFile(backend, record.cid), content)).toBe(0)
      expect((await dagBytes(backend, record.cid)).bytes).toBe(record.dagSize)
    })
  })

  test('an empty file is the well-known empty block', async () => {
    await withEngine(async ({ engine, account }) => {
      for (const source of [new Uint8Array(), [], [new Uint8Array(), new Uint8Array()]]) {
        const { record } = await engine.pins.upload(source, { account })
        expect(record.cid).toBe('bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku')
        expect(await readFile(await engine.clusters.backendOf(), record.cid)).toHaveLength(0)
      }
    })
  })

  test("a file with more chunks than a node's links gets another level", async () => {
    await withEngine(async ({ engine, account }) => {
      const chunk = Buffer.alloc(MiB)
      const zeros = function* (): Generator<Uint8Array> {
        for (let i = 0; i < 1_025; i++) yield chunk
      }
      const { record } = await engine.pins.upload(zeros(), { account })
      expect(record.cid).toBe(await referenceCid([{ content: zeros() }], false))
      expect(record.size).toBe(1_025 * MiB)
      // One leaf, the two nodes above the leaves, and the root.
      expect((await dagBytes(await engine.clusters.backendOf(), record.cid)).blocks.size).toBe(4)
    })
  })

  test('an empty directory is the well-known one', async () => {
    await withEngine(async test => {
      const source = async function* (): AsyncGenerator<DirectoryEntry> {
        yield { kind: 'directory', path: 'hollow' }
      }
      const { record } = await test.engine.pins.uploadDirectory(source(), { account: test.account })
      const backend = await test.engine.clusters.backendOf()
      const { Links } = dagPb.decode(await readBlock(test.engine, CID.parse(record.cid)))
      expect(Links.map(link => [link.Name, String(link.Hash)])).toEqual([
        ['hollow', 'bafybeiczsscdsbs7ffqz55asqdf3smv6klcw3gofszvwlyarci47bgf354'],
      ])
      expect(await readTree(backend, record.cid)).toEqual({ hollow: 'dir' })
    })
  })

  test('nested directories have the CID of the profile, in any entry order', async () => {
    await withEngine(async test => {
      const files = {
        'readme.txt': pseudoRandom(100, 1),
        'a/b/c/deep.bin': pseudoRandom(MiB + 5, 2),
        'a/b/second': pseudoRandom(40_000, 3),
        'a/empty': Buffer.alloc(0),
        'ümläut/日本 語/🙂': pseudoRandom(10, 4),
        'constructor/__proto__': pseudoRandom(11, 5),
        Z: pseudoRandom(1, 6),
      }
      const cid = await uploadTree(test, files)
      expect(cid).toBe(await referenceOf(files))
      expect(await uploadTree(test, Object.fromEntries(Object.entries(files).reverse()))).toBe(cid)
      const expected: Record<string, string> = Object.create(null)
      for (const [path, content] of Object.entries(files)) {
        const segments = path.split('/')
        for (let i = 1; i < segments.length; i++) expected[segments.slice(0, i).join('/')] = 'dir'
        expected[path] = sha256Hex(content)
      }
      expect({ ...(await readTree(await test.engine.clusters.backendOf(), cid)) }).toEqual({ ...expected })
      expect((await dagBytes(await test.engine.clusters.backendOf(), cid)).bytes).toBe(
        (await test.engine.pins.list({ account: test.account })).items[0]?.dagSize,
      )
    })
  })

  test.each([
    [4_766, 'directory'],
    [4_767, 'hamt-sharded-directory'],
    [5_577, 'hamt-sharded-directory'],
  ])('a directory of %i files is stored as a %s', async (count, kind) => {
    await withEngine(async test => {
      const files = Object.fromEntries(names(count).map(name => [name, Buffer.from('x')]))
      const cid = await uploadTree(test, files)
      expect(await rootKind(test, cid)).toBe(kind)
      expect(cid).toBe(await referenceOf(files))
      if (count > 5_000) return
      expect(Object.keys(await readTree(await test.engine.clusters.backendOf(), cid)).sort()).toEqual(names(count))
    })
  })

  test('the Tsize of sub-directories counts when a directory is split', async () => {
    await withEngine(async test => {
      // 20,000 bytes below each sub-directory make its Tsize three bytes long instead of one.
      const content = pseudoRandom(20_000, 'sub')
      const flatBytes = (count: number, cid: CID, Tsize: number): number => {
        const Links = names(count).map(Name => ({ Name, Hash: cid, Tsize }))
        return dagPb.encode({ Data: new UnixFS({ type: 'directory' }).marshal(), Links }).length
      }
      const kinds: string[] = []
      for (const count of [4_598, 4_599]) {
        const cid = await uploadTree(test, Object.fromEntries(names(count).map(name => [`${name}/f`, content])))
        kinds.push(await rootKind(test, cid))
        if (count === 4_598) continue
        const listed = await readTree(await test.engine.clusters.backendOf(), cid)
        expect(
          Object.keys(listed)
            .filter(path => path.endsWith('/f'))
            .sort(),
        ).toEqual(names(count).map(name => `${name}/f`))
      }
      const sub = await uploadTree(test, { f: content })
      const { bytes } = await dagBytes(await test.engine.clusters.backendOf(), sub)
      expect(flatBytes(4_598, CID.parse(sub), bytes)).toBeLessThanOrEqual(HAMT_THRESHOLD)
      expect(flatBytes(4_599, CID.parse(sub), bytes)).toBeGreaterThan(HAMT_THRESHOLD)
      expect(kinds).toEqual(['directory', 'hamt-sharded-directory'])
    })
  })

  test('blockstore-fs opens the blocks directory and reads every file in it', async () => {
    await withEngine(async ({ engine, account, dataDir }) => {
      const content = pseudoRandom(3 * MiB + 70_000, 'fs')
      const { record } = await engine.pins.upload(content, { account })
      const blocks = new FsBlockstore(join(dataDir, 'blocks'), { createIfMissing: false })
      await blocks.open()
      const found = new Map<string, Uint8Array>()
      for await (const { cid, bytes } of blocks.getAll()) {
        found.set(Buffer.from(cid.multihash.bytes).toString('hex'), await collect(bytes))
      }
      await blocks.close()
      expect(found.size).toBe((await filesIn(join(dataDir, 'blocks'))).length)
      expect([...found.values()].map(bytes => bytes.length).sort((a, b) => a - b)).toEqual([70_000, MiB, MiB, MiB])
      for (const [multihash, bytes] of found) expect(multihash).toBe(`1220${sha256Hex(bytes)}`)
      // The only other block is small: the root node.
      expect((await dagBytes(await engine.clusters.backendOf(), record.cid)).blocks.size).toBe(found.size + 1)
    })
  })
})
