import type { CID } from 'multiformats/cid'
import { expect, test } from 'vitest'
import type { NewRecord, PinLimits } from '../../src/catalogue/records.ts'
import { sqliteContent } from '../../src/catalogue/sqlite/sqlite-content.ts'
import type { ClusterBackend } from '../../src/clusters/cluster-backend.ts'
import { silentLogger } from '../../src/domain/logger.ts'
import { cidOf, type DagIdentity, identityOf } from '../../src/ipld/cid.ts'
import { BlockTable } from '../../src/ledger/block-table.ts'
import { Claims } from '../../src/ledger/claims.ts'
import { Holds } from '../../src/ledger/holds.ts'
import { RootTable } from '../../src/ledger/root-table.ts'
import { PlacementRunner } from '../../src/pins/placement/placement-runner.ts'
import { WriteQueue } from '../../src/storage/write-queue.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { eventually, turns } from '../support/content-parts.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { newDatabase } from '../support/new-database.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { Outside } from './backend.suite.ts'
import { type MemoryParts, memoryBackend } from './memory-backend.ts'
import { until } from './remote-support.ts'

const AWAY = 1
const NO_LIMITS: PinLimits = { maxPins: null, maxStorageBytes: null, maxQueuedPins: null }
const SIZES = { owner: 0, contentSize: 10, dagSize: 20, blocks: 4, charge: 600, fileCount: 0 }

interface World {
  clock: ManualClock
  content: ReturnType<typeof sqliteContent>
  wake(): void
  backend: ClusterBackend
  /** Source of content that the backend does not have yet. */
  outside: Outside
  root: CID
  /** Calls of the backend, in order. */
  asked: string[]
  /** Bytes of DAGs, by CID. Other DAGs count as large. */
  sizes: Map<string, number>
  record(id: string, more?: Partial<NewRecord>): NewRecord
  /** Writes a record whose content is staged on this node. */
  commit(record: NewRecord): Promise<void>
  /** Replaces the worker, as a restart does. */
  restart(): Promise<void>
  stateThere(): Promise<string>
  blocksThere(): Promise<number>
  until(isSo: () => Promise<boolean>): Promise<void>
}

type Broken = (right: MemoryParts) => Partial<ClusterBackend>

function withRunner(run: (world: World) => Promise<void>, broken: Broken = () => ({})): Promise<void> {
  return withTempDir(async dir => {
    const db = newDatabase(dir)
    const queue = new WriteQueue(db)
    const roots = new RootTable(db)
    const account = db.prepare<[string, string]>(
      "INSERT INTO accounts (id, email, plan, role, created_at) VALUES (?, ?, 'unlimited', 'user', 0)",
    )
    for (const id of ['one', 'two']) account.run(id, `${id}@test`)
    const blocks = new BlockTable(db)
    const tables = { roots, holds: new Holds(db, roots), blocks, claims: new Claims(db, blocks, queue) }
    const content = sqliteContent(db, queue, tables, new Set([AWAY]))
    const clock = new ManualClock()
    const outside = new Outside()
    const root = await outside.add(pseudoRandom(2 * 1024 ** 2 + 5, 'placed'))
    const asked: string[] = []
    const sizes = new Map<string, number>()
    const under = memoryBackend(parts => {
      const backend = { ...parts.backend, ...broken(parts) }
      const pin: ClusterBackend['pin'] = job => {
        asked.push('pin')
        return backend.pin(job)
      }
      const unpin: ClusterBackend['unpin'] = (...request) => {
        asked.push('unpin')
        return backend.unpin(...request)
      }
      return { ...backend, pin, unpin }
    })
    const parts = {
      ...{ backends: new Map([[AWAY, under.backend]]), sourceOf: () => outside, placements: content.placements },
      fetchingBackends: new Map(),
      sizeOf: (row: DagIdentity) => sizes.get(cidOf(row).toString()),
      ...{ clock, onChanges: () => undefined, onPlaced: () => undefined },
    }
    let runner = new PlacementRunner(parts, silentLogger)
    const record: World['record'] = (id, more = {}) => ({
      ...{ id, accountId: 'one', clusterId: 'away', cid: root.toString(), ...identityOf(root), type: 'file' },
      ...{ status: 'pinned', statusAt: clock.now(), statusCode: null, statusReason: null, name: id },
      ...{
        originalName: null,
        customName: null,
        meta: null,
        owner: 0,
        size: 10,
        expiresAt: null,
        createdAt: clock.now(),
        ...more,
      },
    })
    const commit: World['commit'] = async made => {
      const stagedRootId = await queue.run(() => roots.stage(AWAY, clock.now()), { durable: false })
      const dag = { codec: made.codec, multihash: made.multihash, ...SIZES }
      const told = { record: made, backendId: AWAY, limits: NO_LIMITS, now: clock.now() }
      await content.records.commit([{ kind: 'whole', ...told, stagedRootId, dag }])
      runner.wake()
    }
    const until: World['until'] = isSo =>
      eventually(async () => {
        if (await isSo()) return true
        clock.advance(1_000)
        return false
      })
    const stateThere = async (): Promise<string> => (await under.backend.status(identityOf(root))).state
    try {
      const wake = (): void => runner.wake()
      const restart = async (): Promise<void> => {
        await runner.stop()
        runner = new PlacementRunner(parts, silentLogger)
        wake()
      }
      const world = { clock, content, wake, restart, outside, root, asked, sizes, record, commit, until, stateThere }
      await run({ ...world, backend: under.backend, blocksThere: under.collect })
    } finally {
      await runner.stop()
      await queue.settled()
      db.close()
    }
  })
}

/** Waits until the record is `pinned`. */
function pinned({ content, until }: World, id: string): Promise<void> {
  return until(async () => (await content.records.get(id))?.status === 'pinned')
}

function gone({ until, stateThere, content, root }: World): Promise<void> {
  return until(async () => {
    const isForgotten = (await content.placements.find(AWAY, identityOf(root))) === undefined
    return isForgotten && (await stateThere()) === 'unpinned'
  })
}

test('a backend keeps content until its last record is deleted', async () => {
  await withRunner(async world => {
    const { content, wake, record, commit, asked } = world
    await commit(record('r1'))
    expect((await content.records.get('r1'))?.status).toBe('pinning')
    await pinned(world, 'r1')
    await commit(record('r2', { accountId: 'two' }))
    expect((await content.records.get('r2'))?.status).toBe('pinned')
    await content.records.discard('r1')
    wake()
    await turns(50)
    expect([await world.stateThere(), asked]).toEqual(['pinned', ['pin']])
    await content.records.discard('r2')
    wake()
    await gone(world)
    expect([await world.blocksThere(), asked]).toEqual([0, ['pin', 'unpin']])
  })
})

test('a backend unpins expired content', async () => {
  await withRunner(async world => {
    const { content, wake, clock, record, commit } = world
    const expiresAt = clock.now() + 1_000_000_000
    await commit(record('r1', { expiresAt }))
    await pinned(world, 'r1')
    clock.advance(expiresAt - clock.now())
    expect(await content.records.expire(clock.now(), 10)).toHaveLength(1)
    wake()
    await gone(world)
    expect(await world.blocksThere()).toBe(0)
  })
})

test('a backend never receives refused content, or unpins it if unneeded', async () => {
  await withRunner(async world => {
    const { content, wake, clock, record, asked } = world
    const { fetches } = content
    const request = async (id: string, accountId: string): Promise<number> => {
      const told = { owner: 0, backendId: AWAY, origins: [], limits: NO_LIMITS, now: clock.now() }
      const made = await fetches.request({ record: record(id, { accountId, status: 'queued' }), ...told })
      return made.fetchId ?? 0
    }
    const dag = { ...identityOf(world.root), ...SIZES }
    const tooSmall = { ...NO_LIMITS, maxStorageBytes: SIZES.charge - 1 }

    const alone = await request('r1', 'one')
    await fetches.start(alone, clock.now())
    await fetches.complete(alone, dag)
    await fetches.deliver(alone, new Map([['one', tooSmall]]), clock.now())
    expect((await content.records.get('r1'))?.statusCode).toBe('QUOTA_EXCEEDED')
    wake()
    await turns(50)
    expect([await world.stateThere(), asked]).toEqual(['unpinned', []])

    const shared = await request('r2', 'one')
    expect(await request('r3', 'two')).toBe(shared)
    await fetches.start(shared, clock.now())
    await fetches.complete(shared, dag)
    const limits = new Map([
      ['one', tooSmall],
      ['two', NO_LIMITS],
    ])
    await fetches.deliver(shared, limits, clock.now())
    wake()
    await pinned(world, 'r3')
    expect((await content.records.get('r2'))?.status).toBe('failed')
    await content.records.discard('r3')
    wake()
    await gone(world)
    expect([await world.blocksThere(), asked]).toEqual([0, ['pin', 'unpin']])
  })
})

test('an unreachable backend is asked again until it has unpinned', async () => {
  let failures = 3
  const broken: Broken = ({ backend }) => ({
    unpin: async (...request) => {
      if (failures-- > 0) throw new Error('not reached')
      await backend.unpin(...request)
    },
  })
  await withRunner(async world => {
    await world.commit(world.record('r1'))
    await pinned(world, 'r1')
    await world.content.records.discard('r1')
    world.wake()
    await gone(world)
    expect(world.asked).toEqual(['pin', 'unpin', 'unpin', 'unpin', 'unpin'])
  }, broken)
})

test('content needed again before its unpin stays pinned', async () => {
  let beforeUnpin = async (): Promise<void> => undefined
  const heldAfter: number[] = []
  const broken: Broken = ({ backend, held }) => ({
    unpin: async (...request) => {
      await beforeUnpin()
      await backend.unpin(...request)
      heldAfter.push(held.size)
    },
  })
  await withRunner(async world => {
    const { content, wake, record, commit } = world
    await commit(record('r1'))
    await pinned(world, 'r1')
    beforeUnpin = () => commit(record('r2'))
    await content.records.discard('r1')
    wake()
    await world.until(async () => world.asked.includes('unpin'))
    await pinned(world, 'r2')
    expect([await world.stateThere(), heldAfter]).toEqual(['pinned', [1]])
    expect(await world.blocksThere()).toBe(4)
  }, broken)
})

test('a late unpin of a stopped worker removes no needed content', async () => {
  let arrives = (): void => undefined
  const broken: Broken = ({ backend }) => ({
    unpin: async (hold, root, signal, mayUnpin) => {
      if (arrives !== nothing) return backend.unpin(hold, root)
      await mayUnpin?.()
      arrives = () => void backend.unpin(hold, root)
      await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    },
  })
  const nothing = arrives
  await withRunner(async world => {
    const { content, wake, record, commit, clock } = world
    await commit(record('r1'))
    await pinned(world, 'r1')
    await content.records.discard('r1')
    wake()
    await eventually(() => arrives !== nothing)
    await world.restart()
    await commit(record('r2'))
    await turns(50)
    expect((await content.records.get('r2'))?.status).toBe('pinning')
    arrives()
    expect(await world.stateThere()).toBe('unpinned')
    const before = clock.now()
    await pinned(world, 'r2')
    expect(clock.now() - before).toBeGreaterThan(30_000)
    expect([await world.stateThere(), await world.blocksThere()]).toEqual(['pinned', 4])
  }, broken)
})

test('a late unpin of unknown outcome removes no needed content', async () => {
  const late: Array<() => Promise<void>> = []
  const broken: Broken = ({ backend }) => ({
    unpin: async (hold, root, signal, mayUnpin) => {
      if (late.length > 0) return backend.unpin(hold, root, signal, mayUnpin)
      await mayUnpin?.()
      late.push(() => backend.unpin(hold, root))
      throw new Error('the connection was lost')
    },
  })
  await withRunner(async world => {
    const { content, wake, record, commit } = world
    await commit(record('r1'))
    await pinned(world, 'r1')
    await content.records.discard('r1')
    wake()
    await world.until(async () => (await world.stateThere()) === 'unpinned')
    expect(world.asked).toEqual(['pin', 'unpin', 'unpin'])
    await commit(record('r2'))
    await turns(50)
    expect((await content.records.get('r2'))?.status).toBe('pinning')
    for (const arrive of late) await arrive()
    await pinned(world, 'r2')
    expect([await world.stateThere(), await world.blocksThere()]).toEqual(['pinned', 4])
  }, broken)
})

/** Makes a backend that starts each pin and finishes it when the test says so. */
function heldUp(): { broken: Broken; begun: Array<{ root: string; end: () => void }> } {
  const begun: Array<{ root: string; end: () => void }> = []
  const broken: Broken = ({ backend }) => ({
    pin: async job => {
      const { promise, resolve } = Promise.withResolvers<void>()
      begun.push({ root: job.root.toString(), end: resolve })
      await promise
      await backend.pin(job)
    },
  })
  return { broken, begun }
}

test('sends many small DAGs, four large ones, and leaves other accounts room', async () => {
  const { broken, begun } = heldUp()
  await withRunner(async ({ outside, commit, record, sizes }) => {
    const add = async (bytes: Uint8Array, accountId: string): Promise<string> => {
      const root = await outside.add(bytes)
      sizes.set(root.toString(), bytes.length)
      await commit(record(`r${root}`, { accountId, cid: root.toString(), ...identityOf(root) }))
      return root.toString()
    }
    for (let i = 0; i < 10; i++) await add(pseudoRandom(200_000, `large ${i}`), 'one')
    for (let i = 0; i < 30; i++) await add(Buffer.from(`small ${i}`), 'one')
    const other = await add(Buffer.from("the other's"), 'two')
    const isSmall = (root: string): boolean => (sizes.get(root) ?? 0) <= 65_536
    const large = () => begun.filter(({ root }) => !isSmall(root))
    await until('all places are taken', () => begun.length === 19)
    expect(large()).toHaveLength(4)
    // Large DAGs take ten of the account's 24 jobs, and six of those ten wait.
    expect(begun.filter(({ root }) => isSmall(root) && root !== other)).toHaveLength(14)
    expect(begun.some(({ root }) => root === other)).toBe(true)
    large()[0]?.end()
    await until('the next large one has begun', () => large().length === 5)
    for (const { end } of begun) end()
  }, broken)
})
