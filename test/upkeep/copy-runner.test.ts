import { expect, test } from 'vitest'
import type { Copies, DueCopy } from '../../src/catalogue/copies.ts'
import type { StagingBackend } from '../../src/clusters/staging-backend.ts'
import { silentLogger } from '../../src/domain/logger.ts'
import { CopyRunner, type CopyRunnerParts } from '../../src/upkeep/copy-runner.ts'
import { DAG } from '../catalogue/content-support.ts'
import { ManualClock } from '../support/manual-clock.ts'

const turns = async () => {
  for (let i = 0; i < 50; i++) await new Promise(resolve => setImmediate(resolve))
}
/** Lets tenths of a second pass. */
const pass = async (clock: ManualClock, tenths: number) => {
  for (let i = 0; i < tenths; i++) {
    clock.advance(100)
    await turns()
  }
}
const LATER = Number.MAX_SAFE_INTEGER

interface World {
  fresh: number
  repairs: number
  freeBytes: number
  rates?: CopyRunnerParts['rates']
  /** Bytes of each block, of which a copy has three. */
  blockBytes?: number
}

/** Runs copies that begin and never end, or that end after their blocks. Notes which have begun, and the room. */
function runnerOf({ fresh, repairs, freeBytes, rates, blockBytes }: World) {
  const clock = new ManualClock()
  const begun: number[] = []
  const reads: number[] = []
  const rooms: boolean[] = []
  const failures: string[] = []
  const jobs = [
    ...Array.from({ length: fresh }, (_, i) => ({ id: i + 1, isFresh: true })),
    ...Array.from({ length: repairs }, (_, i) => ({ id: 1_000 + i, isFresh: false })),
  ].map(job => ({ ...job, ...DAG, owner: 0, accountId: '', attempts: 0, dueAt: 0 }))
  const disk = { freeBytes, reserveBytes: 100 }
  const copies = {
    due: async ({ isFresh, now, limit }: { isFresh: boolean; now: number; limit: number }) =>
      jobs.filter(job => job.isFresh === isFresh && job.dueAt <= now).slice(0, limit),
    nextDue: async (isFresh: boolean) =>
      jobs.filter(job => job.isFresh === isFresh).reduce((least, { dueAt }) => Math.min(least, dueAt), LATER),
    sourcesOf: async () => ['b'],
    compare: async () => false,
    promote: async () => false,
    walk: async () => false,
    retry: async (copy: DueCopy, _at: number, reason: string) => {
      failures.push(reason)
      for (const job of jobs) if (job.id === copy.id) job.dueAt = LATER
    },
    freed: { begin: async () => [] },
    presence: { room: async (isFull: boolean) => void rooms.push(isFull), observe: async () => undefined },
  } as unknown as Copies
  const home = {
    id: 0,
    staging: {
      take: async (cid: never, source: { read(cid: never): Promise<Uint8Array> }) => {
        begun.push(clock.now())
        if (blockBytes === undefined) await new Promise(() => undefined)
        for (let i = 0; i < 3; i++) {
          await source.read(cid)
          reads.push(clock.now())
        }
        throw new Error('enough')
      },
    },
  } as unknown as StagingBackend
  const runner = new CopyRunner({
    copies,
    homeOf: () => home,
    readerOf: () => ({ read: async () => new Uint8Array(blockBytes ?? 0) }),
    holdsOn: async () => null,
    disk: () => disk,
    lookAtDisk: async () => undefined,
    repairAfterMs: () => undefined,
    unbrokenMs: () => 0,
    rates: rates ?? { bytesPerSecond: 1e9, contentsPerSecond: 1e6 },
    clock,
    logger: silentLogger,
  })
  return { runner, clock, begun, reads, rooms, failures, disk }
}

test('repairs wait while copies of new content fill their room', async () => {
  const busy = runnerOf({ fresh: 40, repairs: 40, freeBytes: 1_000 })
  busy.runner.wake()
  await turns()
  // Only the 16 of new content.
  expect(busy.begun).toHaveLength(16)
  const idle = runnerOf({ fresh: 2, repairs: 40, freeBytes: 1_000 })
  idle.runner.wake()
  await pass(idle.clock, 20)
  expect(idle.begun).toHaveLength(2 + 8)
})

test('repairs begin at the rate of contents', async () => {
  const { runner, clock, begun } = runnerOf({
    fresh: 0,
    repairs: 6,
    freeBytes: 1_000,
    rates: { bytesPerSecond: 1e9, contentsPerSecond: 2 },
  })
  const start = clock.now()
  runner.wake()
  await turns()
  await pass(clock, 30)
  expect(begun.map(at => at - start)).toEqual([0, 0, 500, 1_000, 1_500, 2_000])
})

test('repairs read at the rate of bytes, and new content without', async () => {
  const times = async (world: Partial<World>) => {
    const rates = { bytesPerSecond: 1_000, contentsPerSecond: 1e6 }
    const { runner, clock, reads } = runnerOf({
      fresh: 0,
      repairs: 0,
      freeBytes: 1e6,
      rates,
      blockBytes: 500,
      ...world,
    })
    const start = clock.now()
    runner.wake()
    await turns()
    await pass(clock, 30)
    return reads.map(at => at - start)
  }
  expect(await times({ repairs: 1 })).toEqual([0, 0, 500])
  expect(await times({ fresh: 1 })).toEqual([0, 0, 0])
})

test('copies leave twice the reserve of uploads free', async () => {
  const full = runnerOf({ fresh: 1, repairs: 1, freeBytes: 199 })
  full.runner.wake()
  await turns()
  expect([full.begun, full.rooms]).toEqual([[], [true]])
  // A node that was full needs more room than one that was not.
  full.disk.freeBytes = 299
  full.runner.wake()
  await turns()
  expect([full.begun, full.rooms.at(-1)]).toEqual([[], true])
  full.disk.freeBytes = 300
  full.runner.wake()
  await turns()
  expect([full.begun.length, full.rooms.at(-1)]).toEqual([2, false])
})

test('a copy ends when the disk has no more room', async () => {
  const { runner, clock, failures, disk } = runnerOf({
    fresh: 0,
    repairs: 1,
    freeBytes: 200,
    blockBytes: 500,
    rates: { bytesPerSecond: 1_000, contentsPerSecond: 1e6 },
  })
  runner.wake()
  await turns()
  disk.freeBytes = 100
  clock.advance(1_000)
  await turns()
  expect(failures).toEqual(['STORAGE_FULL: no room for copies'])
})
