import type { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import { nextTurn } from '../../src/concurrency/turns.ts'
import { HoldfastError } from '../../src/domain/errors.ts'
import { type Logger, silentLogger } from '../../src/domain/logger.ts'
import { identityOf } from '../../src/ipld/cid.ts'
import { Announcements } from '../../src/ledger/announcements.ts'
import { BlockTable } from '../../src/ledger/block-table.ts'
import { HeldRoots } from '../../src/ledger/held-roots.ts'
import { RootTable } from '../../src/ledger/root-table.ts'
import { Announcer, type Announcing } from '../../src/pins/announcer.ts'
import type { PinRecord } from '../../src/pins/pin-types.ts'
import type { Database } from '../../src/storage/database.ts'
import { WriteQueue } from '../../src/storage/write-queue.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { newDatabase } from '../support/new-database.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { leaf } from './fetches/support/dags.ts'

const HOUR_MS = 3_600_000
const SIZES = { owner: 0, contentSize: 0, dagSize: 0, fileCount: 0, blocks: 1, charge: 0 }

/** A database with complete roots, and a router that the test controls. */
class World {
  readonly clock = new ManualClock()
  /** CIDs that peers may not fetch. */
  readonly withheld = new Set<string>()
  readonly asked: Array<{ cid: string; answer: (error?: Error) => void }> = []
  readonly #database: Database
  readonly #roots: RootTable
  readonly withdrawn: string[] = []
  readonly warnings: string[] = []
  readonly #logger: Logger = { ...silentLogger, warn: (_, message) => void this.warnings.push(message) }
  #running: Announcer | null = null

  constructor(database: Database) {
    this.#database = database
    this.#roots = new RootTable(database)
  }

  root(name: string, owner = 0): string {
    const { root } = leaf(Buffer.from(name))
    this.#roots.insert(0, { ...identityOf(root), ...SIZES, owner }, this.clock.now())
    return root.toString()
  }

  async start(peerId: string, network = 'public'): Promise<Announcer> {
    this.#running?.stop()
    this.asked.length = 0
    const queue = new WriteQueue(this.#database)
    const announce = (cid: CID): Promise<boolean> => {
      const { promise, resolve, reject } = Promise.withResolvers<boolean>()
      const answer = (error?: Error): void => (error === undefined ? resolve(true) : reject(error))
      this.asked.push({ cid: cid.toString(), answer })
      return promise
    }
    const announcing: Announcing = {
      peerId,
      network,
      announce,
      withdraw: async cid => void this.withdrawn.push(`${cid}`),
    }
    const roots = new HeldRoots(this.#roots, new BlockTable(this.#database))
    const announcements = new Announcements(this.#database, queue)
    const { clock } = this
    this.#running = new Announcer({
      announcing,
      roots,
      announcements,
      served: { has: cid => !this.withheld.has(cid.toString()) },
      clock,
      logger: this.#logger,
    })
    await this.#running.start()
    return this.#running
  }

  /** Lets the announcer start one more announcement. */
  async startNext(): Promise<void> {
    this.clock.advance(200)
    await nextTurn()
    await nextTurn()
  }

  /** Answers announcements until no more come. Returns their CIDs in order. */
  async answerAll(error?: Error): Promise<string[]> {
    const cids: string[] = []
    for (let quiet = 0; quiet < 20; quiet++) {
      for (const { cid, answer } of this.asked.splice(0)) {
        cids.push(cid)
        answer(error)
        quiet = 0
      }
      await this.startNext()
    }
    return cids
  }

  stop(): void {
    this.#running?.stop()
  }
}

function withWorld(run: (world: World) => Promise<void>): Promise<void> {
  return withTempDir(async dir => {
    const database = newDatabase(dir)
    const world = new World(database)
    try {
      await run(world)
    } finally {
      world.stop()
      database.close()
    }
  })
}

describe('an announcer', () => {
  test('asks routers for nothing that is private', async () => {
    await withWorld(async world => {
      const open = world.root('open')
      const closed = world.root('closed', 77)
      const announcer = await world.start('peer')
      const record = (cid: string, visibility: 'public' | 'private') =>
        ({ cid, visibility, status: 'pinned' }) as PinRecord
      announcer.pinned(record(closed, 'private'))
      expect(await world.answerAll()).toEqual([open])
      announcer.removed(record(closed, 'private'))
      announcer.shown(record(open, 'private'))
      expect(world.withdrawn).toEqual([])
      // The root has become private, so its provider record goes.
      announcer.shown(record(closed, 'private'))
      expect(world.withdrawn).toEqual([closed])
      announcer.shown(record(open, 'public'))
      expect(await world.answerAll()).toEqual([open])
    })
  })

  test('announces a withheld root only once peers may fetch it', async () => {
    await withWorld(async world => {
      const [open, absent] = [world.root('a'), world.root('b')]
      world.withheld.add(absent)
      await world.start('first')
      expect(await world.answerAll()).toEqual([open])
      world.withheld.clear()
      world.clock.advance(600_000)
      expect(await world.answerAll()).toEqual([absent])
    })
  })

  test('announces every root again under a new peer id or network', async () => {
    await withWorld(async world => {
      const cids = [world.root('a'), world.root('b')].toSorted()
      await world.start('first')
      expect((await world.answerAll()).toSorted()).toEqual(cids)
      world.clock.advance(HOUR_MS)
      await world.start('first')
      expect(await world.answerAll()).toEqual([])
      for (const [peer, network] of [
        ['second', 'public'],
        ['second', 'private'],
        ['first', 'public'],
      ] as const) {
        await world.start(peer, network)
        expect((await world.answerAll()).toSorted()).toEqual(cids)
        world.clock.advance(HOUR_MS)
      }
      // The router does not answer while time passes.
      world.clock.advance(22 * HOUR_MS)
      expect([...new Set(await world.answerAll())].toSorted()).toEqual(cids)
    })
  })

  test('warns once while provider records expire before their renewal', async () => {
    await withWorld(async world => {
      const expired = 'provider records expire before they are renewed: peers may not find pinned content'
      for (const name of ['a', 'b', 'c']) world.root(name)
      await world.start('first')
      await world.answerAll()
      expect(world.warnings).toEqual([])
      const searches = async (hours: number, expected: string[]): Promise<void> => {
        world.clock.advance(hours * HOUR_MS)
        await world.answerAll()
        expect(world.warnings.splice(0)).toEqual(expected)
      }
      await searches(47, [])
      // The clock runs six searches after the records have expired.
      await searches(49, [expired])
      await searches(23, [])
      await searches(49, [expired])
    })
  })

  test('announces again a root whose last announcement is in the future', async () => {
    await withWorld(async world => {
      const cids = Array.from({ length: 300 }, (_, i) => world.root(`root ${i}`)).toSorted()
      world.clock.advance(1_000 * HOUR_MS)
      await world.start('first')
      expect((await world.answerAll()).toSorted()).toEqual(cids)
      world.clock.advance(-500 * HOUR_MS)
      for (const expected of [cids, []]) {
        await world.start('first')
        expect((await world.answerAll()).toSorted()).toEqual(expected)
      }
    })
  })

  test('resumes after a restart that interrupts announcing under a new id', async () => {
    await withWorld(async world => {
      const cids = Array.from({ length: 20 }, (_, i) => world.root(`root ${i}`))
      await world.start('first')
      await world.answerAll()
      world.clock.advance(1)
      await world.start('second')
      for (let i = 0; i < 8; i++) await world.startNext()
      const told = world.asked.splice(0).map(({ cid, answer }) => {
        answer()
        return cid
      })
      await world.answerAll(new HoldfastError('UNAVAILABLE', 'nobody'))
      await world.start('second')
      expect((await world.answerAll()).toSorted()).toEqual(cids.filter(cid => !told.includes(cid)).toSorted())
    })
  })

  test('announces new roots before a thousand due ones', async () => {
    await withWorld(async world => {
      for (let i = 0; i < 1_000; i++) world.root(`root ${i}`)
      const announcer = await world.start('first')
      const news = Array.from({ length: 4 }, (_, i) => world.root(`new ${i}`))
      for (const cid of news) announcer.pinned({ cid } as PinRecord)
      for (let i = 0; i < 4; i++) await world.startNext()
      expect(world.asked.slice(1).map(({ cid }) => cid)).toEqual(news)
      // The due roots follow without a pause.
      expect(new Set(await world.answerAll()).size).toBe(1_004)
    })
  })

  test('announces new roots while the router holds eight renewals', async () => {
    await withWorld(async world => {
      for (let i = 0; i < 20; i++) world.root(`root ${i}`)
      const announcer = await world.start('first')
      for (let i = 0; i < 20; i++) await world.startNext()
      expect(world.asked.length).toBe(8)
      const cid = world.root('new')
      announcer.pinned({ cid } as PinRecord)
      await world.startNext()
      expect(world.asked.at(-1)?.cid).toBe(cid)
    })
  })

  test('starts at most five announcements a second', async () => {
    await withWorld(async world => {
      for (let i = 0; i < 20; i++) world.root(`root ${i}`)
      await world.start('first')
      for (let i = 0; i < 5; i++) await nextTurn()
      expect(world.asked.length).toBe(1)
      world.clock.advance(199)
      for (let i = 0; i < 5; i++) await nextTurn()
      expect(world.asked.length).toBe(1)
      world.clock.advance(1)
      for (let i = 0; i < 5; i++) await nextTurn()
      expect(world.asked.length).toBe(2)
    })
  })

  test('counts due renewals, new roots and the oldest record', async () => {
    await withWorld(async world => {
      for (const name of ['a', 'b', 'c']) world.root(name)
      const announcer = await world.start('first')
      expect(announcer.backlog()).toEqual({ waiting: 0, due: 0, oldestAt: null })
      const start = world.clock.now()
      await world.answerAll()
      const { due, oldestAt } = announcer.backlog()
      expect(due).toBe(0)
      expect((oldestAt ?? 0) - start).toBeLessThan(1_000)
      world.clock.advance(23 * HOUR_MS)
      expect(announcer.backlog()).toEqual({ waiting: 0, due: 3, oldestAt })
      for (let i = 0; i < 20; i++) announcer.pinned({ cid: world.root(`new ${i}`) } as PinRecord)
      expect(announcer.backlog().waiting).toBeGreaterThan(15)
    })
  })

  test('pauses after failures in a row, and resumes after the failed roots', async () => {
    await withWorld(async world => {
      for (let i = 0; i < 40; i++) world.root(`root ${i}`)
      await world.start('first')
      const failed = await world.answerAll(new HoldfastError('UNAVAILABLE', 'nobody'))
      expect(failed.length).toBeLessThan(25)
      world.clock.advance(60_000)
      const told = await world.answerAll()
      expect(told.length + failed.length).toBe(40)
      expect(told.filter(cid => failed.includes(cid))).toEqual([])
    })
  })
})
