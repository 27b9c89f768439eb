import type { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import { ClusterRegistry } from '../../src/clusters/cluster-registry.ts'
import { EmbeddedBackend } from '../../src/clusters/embedded-backend.ts'
import type { LedgerBackend, StagingBackend } from '../../src/clusters/staging-backend.ts'
import { withDefaults } from '../../src/config/config.ts'
import type { BlockSource } from '../../src/content/block-source.ts'
import { assembleDag } from '../../src/content/dag/assembly.ts'
import { LiveContent } from '../../src/content/live-content.ts'
import { PossessedContent } from '../../src/content/taken-source.ts'
import { HoldfastError } from '../../src/domain/errors.ts'
import { silentLogger } from '../../src/domain/logger.ts'
import { createGateway } from '../../src/gateway/gateway.ts'
import { dagKey, identityOf } from '../../src/ipld/cid.ts'
import { HeldRoots } from '../../src/ledger/held-roots.ts'
import { Possessor, PUBLIC } from '../../src/ledger/possessor.ts'
import { directClient } from '../gateway/client.ts'
import { type Block, type Dag, directoryOf, leaf, randomFile } from '../pins/fetches/support/dags.ts'
import { collect, pseudoRandom } from '../support/bytes.ts'
import { type ContentParts, withContentParts } from '../support/content-parts.ts'

const ELSEWHERE = 7
const BOUNDS = { maxBlocks: 10_000, maxDepth: 100 }

/** Content of an external backend. A test can replace its blocks. */
class ExternalBlocks implements BlockSource {
  readonly blocks = new Map<string, Uint8Array>()
  reads = 0

  add(dag: Dag): void {
    for (const { cid, bytes } of dag.blocks) this.blocks.set(dagKey(cid), bytes)
  }

  async read(cid: CID): Promise<Uint8Array> {
    this.reads++
    const bytes = this.blocks.get(dagKey(cid))
    if (bytes === undefined) throw new HoldfastError('NOT_FOUND', `block ${cid} is not on this node`)
    return bytes
  }
}

interface World extends ContentParts {
  elsewhere: ExternalBlocks
  registry: ClusterRegistry
  content: LiveContent
  /** Holds a root on the external backend, with no block on this node. */
  hold(dag: Dag, ends?: number | null): Promise<void>
}

function withElsewhere(run: (world: World) => Promise<void>, isReadable = true): Promise<void> {
  return withContentParts(async parts => {
    const { ledger, store, roots, blocks, leases, clock } = parts
    const held = new HeldRoots(roots, blocks, new Set([ELSEWHERE]))
    const elsewhere = new ExternalBlocks()
    const home: StagingBackend = new EmbeddedBackend(store, ledger, held, clock)
    const away: LedgerBackend = {
      id: ELSEWHERE,
      pin: async () => undefined,
      unpin: async () => undefined,
      status: async () => ({ state: 'pinned', allocations: [] }),
      reader: isReadable ? elsewhere : null,
    }
    const described = { region: '', country: null, gateways: [] }
    const registry = new ClusterRegistry({
      clusters: [
        { ...described, id: 'home', label: 'Home' },
        { ...described, id: 'away', label: 'Away' },
      ],
      defaultCluster: 'home',
      defaultBackend: home,
      backends: new Map([['away', away]]),
      gatewayUrl: 'http://127.0.0.1',
    })
    const content = new LiveContent(held, registry, leases, clock)
    const hold = async ({ root }: Dag, ends: number | null = null): Promise<void> => {
      const stagedRootId = await ledger.stage(ELSEWHERE, clock.now())
      const sizes = { owner: 0, contentSize: 0, dagSize: 0, blocks: 0, charge: 0, fileCount: 0 }
      await ledger.keep(root.toString(), {
        ...{ backendId: ELSEWHERE, stagedRootId, ends },
        dag: { ...identityOf(root), ...sizes },
      })
    }
    await run({ ...parts, held, elsewhere, registry, content, hold })
  })
}

/** Stages a DAG, and returns the missing blocks. */
async function assemble(world: World, root: CID, sent: readonly Block[] = []) {
  const staged = await world.stage()
  for (const { cid, bytes } of sent) await staged.put(cid, bytes)
  await staged.settle()
  const missing: string[] = []
  const onMissing = (cid: CID): void => {
    missing.push(cid.toString())
  }
  const by = new Possessor(PUBLIC, world.clock).with(staged.rootId)
  const stored = new PossessedContent(world.held, world.registry)
  const holderOf = (cid: CID) => stored.blocksOf(cid, by)
  await assembleDag(root, { into: staged, holderOf, onMissing, ...BOUNDS })
  return { missing, blocks: staged.blockCount }
}

describe('content of an external cluster', () => {
  test('is leased by its root and read through the backend while held', async () => {
    await withElsewhere(async ({ elsewhere, content, hold, ledger, leases, clock }) => {
      const file = randomFile(3, 2_000, 'held')
      elsewhere.add(file)
      expect(content.lease(file.root)).toBeNull()
      await hold(file, clock.now() + 1_000)
      const leased = content.lease(file.root)
      expect(leased).toMatchObject({ isLocal: false, liveUntil: clock.now() + 1_000 })
      expect(leases.held().size).toBe(1)
      for (const { cid, bytes } of file.blocks) expect(await leased?.source.read(cid)).toEqual(bytes)
      expect(leased?.sizeOf(file.root)).toBeNull()
      leased?.release()
      expect(leases.held().size).toBe(0)
      clock.advance(1_001)
      expect(content.lease(file.root)).toBeNull()
      expect(content.has(file.root)).toBe(false)

      const other = leaf(pseudoRandom(9, 'other'))
      elsewhere.add(other)
      await hold(other)
      expect(content.has(other.root)).toBe(true)
      await ledger.release(other.root.toString())
      expect(content.has(other.root)).toBe(false)
      expect(content.lease(other.root)).toBeNull()
    })
  })

  test('is unavailable if the backend cannot be read', async () => {
    await withElsewhere(async ({ content, hold }) => {
      const file = leaf(pseudoRandom(9, 'unreadable'))
      await hold(file)
      expect(content.has(file.root)).toBe(false)
      expect(content.lease(file.root)).toBeNull()
    }, false)
  })

  test('is served by the gateway, each block checked', async () => {
    await withElsewhere(async ({ elsewhere, content, hold, clock }) => {
      const file = randomFile(4, 5_000, 'served')
      const tree = directoryOf({ 'file.bin': file })
      elsewhere.add(tree)
      await hold(tree)
      const gateway = directClient(
        createGateway({ content, clock, logger: silentLogger, options: withDefaults({}).gateway }),
      )
      const bytes = await collect(file.blocks.slice(1).map(block => block.bytes))
      expect((await gateway.request('GET', `/ipfs/${tree.root}/file.bin`)).body.equals(bytes)).toBe(true)
      // Only the backend knows the blocks below the root.
      expect((await gateway.request('GET', `/ipfs/${file.root}`)).status).toBe(404)

      elsewhere.blocks.set(dagKey(tree.root), pseudoRandom(40, 'a lie'))
      const lied = directClient(
        createGateway({ content, clock, logger: silentLogger, options: withDefaults({}).gateway }),
      )
      const answer = await lied.request('GET', `/ipfs/${tree.root}/file.bin`)
      expect([answer.status, answer.text.includes('a lie')]).toEqual([500, false])
    })
  })

  test('completes an import with the blocks below it and no others', async () => {
    await withElsewhere(async world => {
      const { elsewhere, hold } = world
      const held = randomFile(4, 5_000, 'completing')
      const stranger = leaf(pseudoRandom(70, 'held by nobody'))
      elsewhere.add(held)
      elsewhere.add(stranger)
      await hold(held)
      const tree = directoryOf({ held })
      expect(await assemble(world, tree.root, tree.blocks.slice(0, 1))).toEqual({ missing: [], blocks: 6 })
      expect(elsewhere.reads).toBe(5)
      const other = directoryOf({ held, stranger })
      expect((await assemble(world, other.root, other.blocks.slice(0, 1))).missing).toEqual([stranger.root.toString()])
    })
  })

  test('does not complete an import with wrong bytes', async () => {
    await withElsewhere(async world => {
      const { elsewhere, hold } = world
      const held = randomFile(3, 5_000, 'lying')
      elsewhere.add(held)
      await hold(held)
      const wrong = held.blocks[2]
      if (wrong === undefined) throw new Error('too few blocks')
      elsewhere.blocks.set(dagKey(wrong.cid), pseudoRandom(5_000, 'a lie'))
      expect((await assemble(world, held.root)).missing).toEqual([wrong.cid.toString()])
    })
  })
})
