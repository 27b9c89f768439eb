import { MemoryBlockstore } from 'blockstore-core'
import { importer } from 'ipfs-unixfs-importer'
import { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import type { ClusterBackend } from '../../src/clusters/cluster-backend.ts'
import type { StagingBackend } from '../../src/clusters/staging-backend.ts'
import type { BlockSource } from '../../src/content/block-source.ts'
import { ADMITTED } from '../../src/content/dag/walk.ts'
import { PossessedBlocks, RecordedBlocks } from '../../src/content/taken-source.ts'
import { systemClock } from '../../src/domain/clock.ts'
import { HoldfastError } from '../../src/index.ts'
import { cidOf, identityOf } from '../../src/ipld/cid.ts'
import { Possessor, PUBLIC } from '../../src/ledger/possessor.ts'
import { collect, pseudoRandom } from '../support/bytes.ts'
import { dagBytes } from '../support/read-back.ts'

/** Backend under test, with operations outside the port. */
export interface BackendUnderTest {
  backend: ClusterBackend
  /** Uploads content to a cluster of the backend, so that a record needs it. Returns its CID. */
  keep(content: Uint8Array): Promise<CID>
  /** Removes the record. */
  release(cid: CID): Promise<void>
  /** Collects garbage. Returns the number of blocks left. */
  collect(): Promise<number>
}

/** External source of a file of three chunks. Blocks can be made unavailable. */
export class Outside implements BlockSource {
  readonly #blocks = new MemoryBlockstore()
  readonly missing = new Set<string>()
  readonly reads: string[] = []
  beforeRead: () => void = () => undefined

  add(content: Uint8Array): Promise<CID> {
    return this.#add([{ content }])
  }

  /** Adds a folder of files named by number. */
  addFolder(contents: readonly Uint8Array[]): Promise<CID> {
    return this.#add(contents.map((content, i) => ({ path: `folder/${i}`, content })))
  }

  async #add(files: ReadonlyArray<{ path?: string; content: Uint8Array }>): Promise<CID> {
    let root: CID | null = null
    for await (const { cid } of importer(files, this.#blocks, { profile: 'unixfs-v1-2025' })) root = cid
    if (root === null) throw new Error('nothing imported')
    return root
  }

  async read(cid: CID): Promise<Uint8Array> {
    this.beforeRead()
    this.reads.push(cid.toString())
    if (this.missing.has(cid.toString())) throw new HoldfastError('NOT_FOUND', `block ${cid} is not on this node`)
    return collect(this.#blocks.get(cid))
  }
}

/** Implements `keep` and `release` by one hold on content from outside. */
export function keptFromOutside(backend: ClusterBackend): Pick<BackendUnderTest, 'backend' | 'keep' | 'release'> {
  return {
    backend,
    keep: async content => {
      const source = new Outside()
      const root = await source.add(content)
      await backend.pin({ hold: 'record', root, source, origins: [] })
      return root
    },
    release: root => backend.unpin('record', identityOf(root)),
  }
}

const CONTENT = pseudoRandom(2 * 1024 ** 2 + 100_000, 'backend')

/** Rule for every cluster backend. It runs on an empty one. */
export interface BackendRule {
  name: string
  run(under: BackendUnderTest): Promise<void>
}

export const backendRules: readonly BackendRule[] = [
  {
    name: 'tells whether it holds a DAG for some record, and reads it',
    async run({ backend, keep, release, collect }) {
      const cid = await keep(CONTENT)
      expect((await backend.status(identityOf(cid))).state).toBe('pinned')
      const { bytes, blocks } = await dagBytes(backend, cid.toString())
      expect(blocks.size).toBe(4)
      expect(bytes).toBeGreaterThan(CONTENT.length)
      await release(cid)
      expect((await backend.status(identityOf(cid))).state).toBe('unpinned')
      expect(await collect()).toBe(0)
      await expect(backend.reader?.read(cid)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    },
  },
  {
    name: 'keeps a DAG as long as a hold is on it, and repeats of either change nothing',
    async run({ backend, collect }) {
      const outside = new Outside()
      const root = await outside.add(CONTENT)
      const dag = identityOf(root)
      const job = { root, source: outside, origins: [] }
      await backend.pin({ ...job, hold: 'one' })
      await backend.pin({ ...job, hold: 'one' })
      await backend.pin({ ...job, hold: 'two' })
      expect((await backend.status(dag)).state).toBe('pinned')
      await backend.unpin('one', dag)
      await backend.unpin('one', dag)
      await backend.unpin('never there', dag)
      expect((await backend.status(dag)).state).toBe('pinned')
      expect(await collect()).toBe(4)
      await backend.unpin('two', dag)
      expect((await backend.status(dag)).state).toBe('unpinned')
      expect(await collect()).toBe(0)
    },
  },
  {
    name: 'shares a DAG with the records that need it',
    async run({ backend, keep, release, collect }) {
      const outside = new Outside()
      const root = await outside.add(CONTENT)
      await backend.pin({ hold: 'one', root, source: outside, origins: [] })
      expect((await keep(CONTENT)).equals(root)).toBe(true)
      await backend.unpin('one', identityOf(root))
      expect(await collect()).toBe(4)
      await backend.pin({ hold: 'two', root, source: outside, origins: [] })
      await release(root)
      expect(await collect()).toBe(4)
      expect((await backend.status(identityOf(root))).state).toBe('pinned')
      await backend.unpin('two', identityOf(root))
      expect(await collect()).toBe(0)
    },
  },
  {
    name: 'has nothing of a pin that fails',
    async run({ backend, collect }) {
      const outside = new Outside()
      const root = await outside.add(CONTENT)
      await dagBytes(outside, root.toString())
      outside.missing.add(outside.reads.at(-1) ?? '')
      const job = { hold: 'one', root, source: outside, origins: [] }
      await expect(backend.pin(job)).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
      expect((await backend.status(identityOf(root))).state).toBe('unpinned')
      expect(await collect()).toBe(0)
      outside.missing.clear()
      await backend.pin(job)
      expect((await backend.status(identityOf(root))).state).toBe('pinned')
      await backend.unpin('one', identityOf(root))
      expect(await collect()).toBe(0)
    },
  },
  {
    name: 'asks before it lets go, and keeps what has come to be needed',
    async run({ backend, collect }) {
      const outside = new Outside()
      const root = await outside.add(CONTENT)
      await backend.pin({ hold: 'one', root, source: outside, origins: [] })
      await backend.unpin('one', identityOf(root), undefined, async () => false)
      expect((await backend.status(identityOf(root))).state).toBe('pinned')
      expect(await collect()).toBe(4)
      await backend.unpin('one', identityOf(root), undefined, async () => true)
      expect((await backend.status(identityOf(root))).state).toBe('unpinned')
      expect(await collect()).toBe(0)
    },
  },
  {
    name: 'lists what it keeps under each hold, and nothing that it has let go of',
    async run({ backend, collect }) {
      // An embedded backend needs no list: its holds are rows of the ledger.
      if (backend.pins === undefined) return
      const outside = new Outside()
      const roots = [await outside.add(CONTENT), await outside.add(pseudoRandom(1_000, 'small'))]
      const listed = async (): Promise<string[]> => {
        const pins: string[] = []
        for await (const page of backend.pins?.() ?? []) {
          for (const { hold, state, ...dag } of page) pins.push(`${hold} ${state} ${cidOf(dag).toV1()}`)
        }
        return pins.sort()
      }
      expect(await listed()).toEqual([])
      for (const root of roots) await backend.pin({ hold: 'one', root, source: outside, origins: [] })
      expect(await listed()).toEqual(roots.map(root => `one pinned ${root}`).sort())
      for (const root of roots) {
        await backend.unpin('one', identityOf(root))
        expect(await listed()).not.toContain(`one pinned ${root}`)
      }
      expect(await listed()).toEqual([])
      expect(await collect()).toBe(0)
    },
  },
  {
    name: 'gives blocks that hash to their CIDs, and knows only what it was given',
    async run({ backend, collect }) {
      const outside = new Outside()
      const root = await outside.add(CONTENT)
      const other = await outside.add(pseudoRandom(1_000, 'never pinned'))
      await backend.pin({ hold: 'one', root, source: outside, origins: [] })
      const needed = [...new Set(outside.reads)]
      expect(needed).toHaveLength(4)
      for (const text of needed) {
        const bytes = await backend.reader?.read(CID.parse(text))
        expect(Buffer.compare(bytes ?? Buffer.of(), await outside.read(CID.parse(text))), text).toBe(0)
      }
      expect((await backend.status(identityOf(other))).state).toBe('unpinned')
      await expect(backend.reader?.read(other)).rejects.toMatchObject({ code: 'NOT_FOUND' })
      await backend.unpin('one', identityOf(root))
      expect(await collect()).toBe(0)
    },
  },
]

/** Tests the rules of every cluster backend. */
export function describeBackend(
  name: string,
  withBackend: (run: (under: BackendUnderTest) => Promise<void>) => Promise<void>,
) {
  describe(`cluster backend: ${name}`, () => {
    test.each(backendRules)('$name', ({ run }) => withBackend(run))
  })
}

function ownBlocks({ id: backendId, reader }: StagingBackend): PossessedBlocks {
  const visitor = new Possessor(PUBLIC, systemClock)
  return new PossessedBlocks({ backendId, isLocal: true, reader }, { mayUse: () => true }, visitor)
}

/** Tests the rules of a backend that stages DAGs. */
export function describeStaging(
  name: string,
  withBackend: (run: (under: BackendUnderTest & { backend: StagingBackend }) => Promise<void>) => Promise<void>,
) {
  describe(`cluster backend with staging: ${name}`, () => {
    test('stages a DAG, which is invisible until it is completed', async () => {
      await withBackend(async ({ backend, collect }) => {
        const outside = new Outside()
        const cid = await outside.add(CONTENT)
        const staged = await backend.staging.take(cid, new RecordedBlocks(outside), { maxBlocks: ADMITTED })
        expect((await backend.status(identityOf(cid))).state).toBe('unpinned')
        expect((await dagBytes(backend, cid.toString())).bytes).toBe(staged.dagSize)
        expect(outside.reads).toHaveLength(4)
        await staged.abandon()
        expect(await collect()).toBe(0)
      })
    })

    test('claims its own blocks without copying them', async () => {
      await withBackend(async ({ backend, keep, release, collect }) => {
        const cid = await keep(CONTENT)
        const staged = await backend.staging.take(cid, ownBlocks(backend), { maxBlocks: ADMITTED })
        expect(staged.dagSize).toBe((await dagBytes(backend, cid.toString())).bytes)
        await release(cid)
        expect(await collect()).toBe(4)
        expect((await dagBytes(backend, cid.toString())).blocks.size).toBe(4)
        await staged.abandon()
        expect(await collect()).toBe(0)
      })
    })

    test('abandons a DAG with a missing block, and keeps nothing', async () => {
      await withBackend(async ({ backend, collect }) => {
        const outside = new Outside()
        const cid = await outside.add(CONTENT)
        const last = (await dagBytes(outside, cid.toString())).blocks.size
        outside.missing.add(outside.reads.at(-1) ?? '')
        expect(last).toBe(4)
        await expect(
          backend.staging.take(cid, new RecordedBlocks(outside), { maxBlocks: ADMITTED }),
        ).rejects.toMatchObject({
          code: 'CID_NOT_FOUND',
        })
        expect(await collect()).toBe(0)
        await expect(backend.staging.take(cid, ownBlocks(backend), { maxBlocks: ADMITTED })).rejects.toMatchObject({
          code: 'CID_NOT_FOUND',
        })
        expect(await collect()).toBe(0)
      })
    })

    test('stops when the signal aborts', async () => {
      await withBackend(async ({ backend, collect }) => {
        const outside = new Outside()
        const cid = await outside.add(CONTENT)
        const controller = new AbortController()
        outside.beforeRead = () => {
          if (outside.reads.length === 2) controller.abort(new Error('enough'))
        }
        await expect(
          backend.staging.take(cid, new RecordedBlocks(outside), { maxBlocks: ADMITTED, signal: controller.signal }),
        ).rejects.toThrow('enough')
        expect(await collect()).toBe(0)
      })
    })
  })
}
