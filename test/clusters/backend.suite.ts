import { MemoryBlockstore } from 'blockstore-core'
import { importer } from 'ipfs-unixfs-importer'
import type { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import type { BlockSource, ClusterBackend } from '../../src/clusters/cluster-backend.ts'
import { identityOf } from '../../src/domain/cid.ts'
import { HoldfastError } from '../../src/index.ts'
import { collect, pseudoRandom } from '../support/bytes.ts'
import { dagBytes } from '../support/read-back.ts'

/** A backend to be tried, with what the port leaves to its surroundings. */
export interface BackendUnderTest {
  backend: ClusterBackend
  /** Uploads content to a cluster of the backend, so that a record needs it. Returns its CID. */
  keep(content: Uint8Array): Promise<CID>
  /** Removes that record. */
  release(cid: CID): Promise<void>
  /** Frees what nothing needs. Returns how many blocks the backend has left. */
  collect(): Promise<number>
}

/** Somewhere outside, with a file of three chunks, of which some may be out of reach. */
class Outside implements BlockSource {
  readonly #blocks = new MemoryBlockstore()
  readonly missing = new Set<string>()
  readonly reads: string[] = []
  beforeRead: () => void = () => undefined

  async add(content: Uint8Array): Promise<CID> {
    let root: CID | null = null
    for await (const { cid } of importer([{ content }], this.#blocks, { profile: 'unixfs-v1-2025' })) root = cid
    if (root === null) throw new Error('nothing imported')
    return root
  }

  async read(cid: CID): Promise<Uint8Array> {
    this.beforeRead()
    this.reads.push(cid.toString())
    if (this.missing.has(cid.toString())) throw new HoldfastError('NOT_FOUND', `block ${cid} is not here`)
    return collect(this.#blocks.get(cid))
  }
}

const CONTENT = pseudoRandom(2 * 1024 ** 2 + 100_000, 'backend')

/** What holds for any backend of clusters. */
export function describeBackend(
  name: string,
  withBackend: (run: (under: BackendUnderTest) => Promise<void>) => Promise<void>,
) {
  describe(`cluster backend: ${name}`, () => {
    test('tells whether it holds a DAG for some record, and reads it', async () => {
      await withBackend(async ({ backend, keep, release, collect }) => {
        const cid = await keep(CONTENT)
        expect(backend.status(identityOf(cid))).toBe('pinned')
        const { bytes, blocks } = await dagBytes(backend, cid.toString())
        expect(blocks.size).toBe(4)
        expect(bytes).toBeGreaterThan(CONTENT.length)
        await release(cid)
        backend.unpin(identityOf(cid))
        expect(backend.status(identityOf(cid))).toBe('unpinned')
        expect(await collect()).toBe(0)
        await expect(backend.read(cid)).rejects.toMatchObject({ code: 'NOT_FOUND' })
      })
    })

    test('takes a DAG in from elsewhere, which nothing shows until it is completed', async () => {
      await withBackend(async ({ backend, collect }) => {
        const outside = new Outside()
        const cid = await outside.add(CONTENT)
        const staged = await backend.pin(cid, outside)
        expect(backend.status(identityOf(cid))).toBe('unpinned')
        expect((await dagBytes(backend, cid.toString())).bytes).toBe(staged.dagSize)
        expect(outside.reads).toHaveLength(4)
        await staged.abandon()
        expect(await collect()).toBe(0)
      })
    })

    test('needs what it has already without copying it', async () => {
      await withBackend(async ({ backend, keep, release, collect }) => {
        const cid = await keep(CONTENT)
        const staged = await backend.pin(cid, backend)
        expect(staged.dagSize).toBe((await dagBytes(backend, cid.toString())).bytes)
        await release(cid)
        expect(await collect()).toBe(4)
        expect((await dagBytes(backend, cid.toString())).blocks.size).toBe(4)
        await staged.abandon()
        expect(await collect()).toBe(0)
      })
    })

    test('gives up a DAG of which a block is missing, and leaves nothing of it', async () => {
      await withBackend(async ({ backend, collect }) => {
        const outside = new Outside()
        const cid = await outside.add(CONTENT)
        const last = (await dagBytes(outside, cid.toString())).blocks.size
        outside.missing.add(outside.reads.at(-1) ?? '')
        expect(last).toBe(4)
        await expect(backend.pin(cid, outside)).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
        expect(await collect()).toBe(0)
        await expect(backend.pin(cid, backend)).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
        expect(await collect()).toBe(0)
      })
    })

    test('ends with the signal', async () => {
      await withBackend(async ({ backend, collect }) => {
        const outside = new Outside()
        const cid = await outside.add(CONTENT)
        const controller = new AbortController()
        outside.beforeRead = () => {
          if (outside.reads.length === 2) controller.abort(new Error('enough'))
        }
        await expect(backend.pin(cid, outside, { signal: controller.signal })).rejects.toThrow('enough')
        expect(await collect()).toBe(0)
      })
    })
  })
}
