import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import { fetchDag, SharedBlocks } from '../../src/content/dag/fetch.ts'
import type { StagedDag } from '../../src/content/dag/staged-dag.ts'
import { PossessedContent, StagedBlocks } from '../../src/content/taken-source.ts'
import { Claims } from '../../src/ledger/claims.ts'
import { Possessor, PUBLIC } from '../../src/ledger/possessor.ts'
import { WriteQueue } from '../../src/storage/write-queue.ts'
import { type Dag, directoryOf, leaf, randomFile } from '../pins/fetches/support/dags.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { type ContentParts, SMALL_BLOCK_BYTES, withContentParts } from '../support/content-parts.ts'

const OWN = 77
const OTHERS = 78
const secret = randomFile(3, 2_000, 'secret')
const small = leaf(pseudoRandom(300, 'small secret'))

/** Stores a DAG as a complete root of an owner. */
async function stored(parts: ContentParts, dag: Dag, owner: number, liveUntil: number | null = null) {
  const staged = await parts.stage()
  for (const { cid, bytes } of dag.blocks) await staged.put(cid, bytes)
  await parts.complete(staged, dag.root)
  parts.database.prepare('UPDATE roots SET owner = ?, live_until = ? WHERE id = ?').run(owner, liveUntil, staged.rootId)
  return staged
}

async function adopts(parts: ContentParts, cid: CID, owner: number, staged?: StagedDag): Promise<boolean> {
  const into = staged ?? (await parts.stage())
  return into.adopt(cid, new Possessor(owner, parts.clock)).then(
    () => true,
    (error: { code?: string }) => {
      expect(error.code).toBe('CID_NOT_FOUND')
      return false
    },
  )
}

describe('a block that is sent', () => {
  const filesOf = ({ files }: ContentParts) =>
    secret.blocks
      .filter(({ bytes }) => bytes.length > SMALL_BLOCK_BYTES)
      .map(({ cid }) => statSync(files.pathOf(cid.multihash.bytes)).ino)

  test.each([
    ['only a root of another owner has it', OWN, OTHERS, true],
    ['only roots of owners have it, from a visitor', OWN, PUBLIC, true],
    ['a root of its sender has it', OWN, OWN, false],
    ['a public root has it', PUBLIC, OTHERS, false],
  ])('is written and charged as a new one if %s', (_, owner, by, isNew) =>
    withContentParts(async parts => {
      const all = [...secret.blocks, ...small.blocks]
      const first = await parts.stage(new Possessor(by, parts.clock))
      for (const { cid, bytes } of all) await first.put(cid, bytes)
      await first.settle()
      const whole = first.newCharge
      await first.abandon()
      await stored(parts, secret, owner)
      await stored(parts, small, owner)
      const before = filesOf(parts)
      const sent = await parts.stage(new Possessor(by, parts.clock))
      for (let i = 0; i < 2; i++) for (const { cid, bytes } of all) await sent.put(cid, bytes)
      await sent.settle()
      expect(sent.newCharge).toBe(isNew ? whole : 0)
      expect(filesOf(parts).every((inode, i) => inode === before[i])).toBe(!isNew)
      expect([parts.healed, parts.damaged]).toEqual([[], []])
    }),
  )
})

describe('a small upload', () => {
  test('writes as many pages if only others have its block', () =>
    withContentParts(async ({ database, dataDir, blocks, roots, clock }) => {
      const queue = new WriteQueue(database)
      const claims = new Claims(database, blocks, queue)
      /** Returns the pages that the log gains. */
      const store = async ({ root: { code: codec, multihash }, size, blocks: [block] }: Dag, owner: number) => {
        const file = join(dataDir, 'holdfast.db-wal')
        const before = statSync(file).size
        const sizes = { contentSize: size, dagSize: size, fileCount: 1, blocks: 1, charge: size }
        const dag = { codec, multihash: multihash.bytes, owner, ...sizes }
        const sent = { multihash: dag.multihash, bytes: block?.bytes ?? new Uint8Array() }
        await queue.run(() => claims.storeRoot(roots, 0, dag, sent, clock.now()), { durable: true })
        return Math.floor((statSync(file).size - before) / 4_096)
      }
      for (const size of [100, 4_096, 30_000]) {
        const [hidden, absent] = [leaf(pseudoRandom(size, 'hidden')), leaf(pseudoRandom(size, 'absent'))]
        await store(hidden, OWN)
        const expected = await store(absent, PUBLIC)
        expect(Math.abs((await store(hidden, PUBLIC)) - expected)).toBeLessThan(2)
        // A third sender finds the public root.
        expect(await store(hidden, OTHERS)).toBeLessThan(expected)
      }
    }))
})

describe('a block that nobody sent', () => {
  test.each([
    ['a public root', PUBLIC, OTHERS, true],
    ['a root of the same owner', OWN, OWN, true],
    ['a root of another owner', OWN, OTHERS, false],
    ['a root of an owner, for a visitor', OWN, PUBLIC, false],
  ])('is usable through %s as possession says', (_, owner, by, isUsable) =>
    withContentParts(async parts => {
      await stored(parts, secret, owner)
      await stored(parts, small, owner)
      for (const { cid } of [...secret.blocks, ...small.blocks]) {
        expect(await adopts(parts, cid, by)).toBe(isUsable)
        const place = parts.held.locate(cid.multihash.bytes, new Possessor(by, parts.clock))
        expect(place !== null).toBe(isUsable)
        expect(parts.held.mayUse(0, cid.multihash.bytes, new Possessor(by, parts.clock))).toBe(isUsable)
      }
    }),
  )

  test('is absent unless its public root is complete and live', () =>
    withContentParts(async parts => {
      const { root } = small
      const staged = await parts.stage()
      for (const { cid, bytes } of small.blocks) await staged.put(cid, bytes)
      await staged.settle()
      expect(await adopts(parts, root, PUBLIC)).toBe(false)
      await parts.complete(staged, root)
      expect(await adopts(parts, root, PUBLIC)).toBe(true)
      parts.database.prepare('UPDATE roots SET live_until = ?').run(parts.clock.now() + 10)
      expect(await adopts(parts, root, PUBLIC)).toBe(true)
      parts.clock.advance(11)
      expect(await adopts(parts, root, PUBLIC)).toBe(false)
      parts.database.prepare('UPDATE roots SET live_until = 0').run()
      expect(await adopts(parts, root, PUBLIC)).toBe(false)
      parts.database.prepare('UPDATE roots SET live_until = NULL').run()
      await parts.drop(staged)
      expect(await adopts(parts, root, PUBLIC)).toBe(false)
    }))

  test('stays usable for the staged root that has claimed it', () =>
    withContentParts(async parts => {
      const kept = await stored(parts, small, PUBLIC)
      const staged = await parts.stage()
      expect(await adopts(parts, small.root, OTHERS, staged)).toBe(true)
      await parts.drop(kept)
      expect(await adopts(parts, small.root, OTHERS, staged)).toBe(true)
      const resumed = await parts.stage()
      expect(await adopts(parts, small.root, OTHERS, resumed)).toBe(false)
      const sent = new Possessor(OTHERS, parts.clock).with(staged.rootId)
      await resumed.adopt(small.root, sent)
      expect(resumed.dagSize).toBe(small.size)
    }))

  test('is noted without its bytes only if nobody else has it', () =>
    withContentParts(async parts => {
      const by = new Possessor(OTHERS, parts.clock)
      const unknown = leaf(pseudoRandom(200, 'on a cluster')).root
      await stored(parts, small, OWN)
      const staged = await parts.stage()
      expect(await staged.note(unknown, 200, by)).toBe(200)
      expect(await staged.note(small.root, 300, by)).toBeNull()
      await stored(parts, small, PUBLIC)
      expect(await staged.note(small.root, 300, by)).toBe(300)
    }))

  test('is found by its root if that is public or owned', () =>
    withContentParts(async parts => {
      const { bytes } = small.root.multihash
      const seen = (owner: number) => [
        parts.held.locate(bytes, new Possessor(owner, parts.clock)) !== null,
        parts.held.open(bytes, parts.clock.now()) !== null,
      ]
      await stored(parts, small, OWN)
      expect(parts.held.payingRoots(bytes, 0, parts.clock.now(), 9)).toEqual([0])
      parts.database.prepare('DELETE FROM root_blocks').run()
      expect([seen(OWN), seen(OTHERS)]).toEqual([
        [true, false],
        [false, false],
      ])
      parts.database.prepare('UPDATE roots SET owner = 0').run()
      expect(seen(OTHERS)).toEqual([true, true])
    }))

  test('is not read beside a block that the party may use', () =>
    withContentParts(async parts => {
      await stored(parts, secret, OWN)
      await stored(parts, small, PUBLIC)
      const registry = { defaultBackend: { id: 0 }, readerOf: () => parts.store }
      const blocks = new PossessedContent(parts.held, registry).blocksOf(small.root, new Possessor(OTHERS, parts.clock))
      expect(await blocks?.read(small.root)).toHaveLength(small.size)
      await expect(blocks?.read(secret.root)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    }))

  test('is public or private through its roots, whichever came first', () =>
    withContentParts(async parts => {
      const secrets = await stored(parts, small, OWN)
      const [cid] = [small.root]
      expect(parts.held.open(cid.multihash.bytes, parts.clock.now())).toBeNull()
      await stored(parts, small, PUBLIC)
      expect(parts.held.open(cid.multihash.bytes, parts.clock.now())).toMatchObject({ backendId: 0 })
      await parts.drop(secrets)
      expect(await adopts(parts, cid, OTHERS)).toBe(true)
    }))
})

describe('a staged DAG', () => {
  test('gives only the blocks that it has claimed', () =>
    withContentParts(async parts => {
      await stored(parts, small, OWN)
      const staged = await parts.stage()
      const folder = directoryOf({ a: small })
      const [node] = folder.blocks
      if (node === undefined) throw new Error('the directory has no block')
      await staged.put(node.cid, node.bytes)
      await staged.settle()
      const source = new StagedBlocks(staged)
      expect(Buffer.compare(await source.read(node.cid), node.bytes)).toBe(0)
      await expect(source.read(small.root)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    }))
})

describe('a fetch of a root that links to content of another account', () => {
  /** Fetches a folder with the secret, whose source has all blocks. Returns the CIDs that it asked for. */
  async function fetched(parts: ContentParts, folder: Dag, owner: number): Promise<string[]> {
    const asked: string[] = []
    const staged = await parts.stage()
    await fetchDag(folder.root, {
      staged,
      by: new Possessor(owner, parts.clock),
      owner,
      session: {
        get: async cid => {
          asked.push(cid.toString())
          const block = folder.blocks.find(each => each.cid.equals(cid))
          if (block === undefined) throw new Error(`no block ${cid}`)
          return Uint8Array.from(block.bytes)
        },
        providers: () => [],
        close: () => undefined,
      },
      shared: new SharedBlocks(),
      bounds: { maxBlocks: 100, maxDepth: 10, concurrency: 4 },
      signal: new AbortController().signal,
      onProgress: () => undefined,
    })
    await staged.settle()
    return asked
  }

  test('asks its sources for every block, and is deduplicated on arrival', () =>
    withContentParts(async parts => {
      await stored(parts, secret, OWN)
      const folder = directoryOf({ bait: secret })
      const all = folder.blocks.map(({ cid }) => cid.toString()).sort()
      expect((await fetched(parts, folder, OTHERS)).sort()).toEqual(all)
      expect(parts.files.writes).toBeLessThanOrEqual(all.length)
      expect((await fetched(parts, folder, OWN)).sort()).toEqual([folder.root.toString()])
    }))
})
