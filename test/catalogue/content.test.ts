import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { NewRecord, PinLimits } from '../../src/catalogue/records.ts'
import { ACCOUNT, commit, dagOf, NO_LIMITS, recordOf, SIZES, type World, withCatalogue } from './sqlite-world.ts'

const NEWEST_FIRST = (a: NewRecord, b: NewRecord): number => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1)

describe('pages of records', () => {
  test('are correct at any offset while records change, in short statements', async () => {
    await withCatalogue(async world => {
      const content = world.open()
      const dags = ['a', 'b', 'c'].map(dagOf)
      const kept = Array.from({ length: 4_500 }, (_, i) =>
        recordOf(dags[i % 3] ?? dagOf('a'), { createdAt: i % 700, expiresAt: i % 5 === 0 ? 1e9 : null }),
      )
      for (let i = 0; i < kept.length; i += 500) await commit(world, content, kept.slice(i, i + 500))
      world.db.reset()
      await fc.assert(
        fc.asyncProperty(
          fc.record({
            offset: fc.nat(4_600),
            dag: fc.option(fc.constantFrom(...dags)),
            hasExpiration: fc.boolean(),
            change: fc.constantFrom('none', 'add', 'remove'),
            pick: fc.nat(4_000),
          }),
          async ({ offset, dag, hasExpiration, change, pick }) => {
            if (change === 'add') {
              const record = recordOf(dags[pick % 3] ?? dagOf('a'), { createdAt: pick % 800 })
              await commit(world, content, [record])
              kept.push(record)
            } else if (change === 'remove') {
              const [gone] = kept.splice(pick % kept.length, 1)
              expect(await content.records.discard(gone?.id ?? '')).toBe(true)
            }
            const filter = { accountId: ACCOUNT, multihash: dag?.multihash ?? null, hasExpiration, now: 1 }
            const wanted = kept
              .filter(record => dag === null || Buffer.compare(record.multihash, dag.multihash) === 0)
              .filter(record => !hasExpiration || record.expiresAt !== null)
              .sort(NEWEST_FIRST)
            const { rows, total } = await content.records.page(filter, offset, 7)
            expect(total).toBe(wanted.length)
            expect(rows.map(row => row.id)).toEqual(wanted.slice(offset, offset + 7).map(record => record.id))
          },
        ),
        { numRuns: 150 },
      )
      expect(world.db.mostRows).toBeLessThanOrEqual(1_000)
      // The position of the page is now known, so reading it again takes one statement besides the counters.
      const filter = { accountId: ACCOUNT, multihash: null, hasExpiration: false, now: 1 }
      for (const offset of [2_200, kept.length - 7]) {
        await content.records.page(filter, offset, 7)
        world.db.reset()
        const { rows } = await content.records.page(filter, offset, 7)
        expect(world.db.read.length).toBeLessThanOrEqual(3)
        // Columns that no list shows are not read, because bytes dominate the cost.
        expect(Object.keys(rows[0] ?? {})).not.toContain('multihash')
        expect(world.db.mostRows).toBeLessThanOrEqual(7)
      }
    })
  })

  test('hide expired records before their removal, even deep in the list', async () => {
    await withCatalogue(async world => {
      const content = world.open()
      const records = Array.from({ length: 3_000 }, (_, i) =>
        recordOf(dagOf('a'), { createdAt: i, expiresAt: i % 2 === 0 ? 50 : null }),
      )
      for (let i = 0; i < records.length; i += 500) await commit(world, content, records.slice(i, i + 500))
      const live = records.filter(record => record.expiresAt === null).sort(NEWEST_FIRST)
      for (const multihash of [null, dagOf('a').multihash]) {
        const filter = { accountId: ACCOUNT, multihash, hasExpiration: false, now: 60 }
        const { rows, total } = await content.records.page(filter, 1_300, 5)
        expect(total).toBe(1_500)
        expect(rows.map(row => row.id)).toEqual(live.slice(1_300, 1_305).map(record => record.id))
        world.db.reset()
        await content.records.page(filter, 1_300, 5)
        expect(world.db.read.length).toBeLessThanOrEqual(3)
      }
    })
  })

  test('are right while records of any content expire and are removed', async () => {
    await withCatalogue(async world => {
      const content = world.open()
      // One of the newest records expires, then one of the oldest, and so on. Mostly, the one before is removed.
      const expiryOf = new Map(
        Array.from({ length: 40 }, (_, k) => [k % 2 === 0 ? 2_999 - k : k - 1, 10 * (k + 1)] as const),
      )
      let kept = Array.from({ length: 3_000 }, (_, i) =>
        recordOf(dagOf('ab'[i % 2] ?? 'a'), { createdAt: i, expiresAt: expiryOf.get(i) ?? null, name: `${i}` }),
      )
      for (let i = 0; i < kept.length; i += 500) await commit(world, content, kept.slice(i, i + 500))
      for (let now = 10; now <= 400; now += 10) {
        const gone = now % 30 === 0 ? [] : await content.records.expire(now - 10, 10)
        kept = kept.filter(({ id }) => !gone.some(record => record.id === id))
        for (const dag of [null, dagOf('a'), dagOf('b')]) {
          const filter = { accountId: ACCOUNT, multihash: dag?.multihash ?? null, hasExpiration: false, now }
          const wanted = kept
            .filter(({ expiresAt }) => expiresAt === null || expiresAt > now)
            .filter(({ multihash }) => dag === null || Buffer.compare(multihash, dag.multihash) === 0)
            .sort(NEWEST_FIRST)
          const { rows, total } = await content.records.page(filter, 1_200, 5)
          expect([total, rows.map(({ id }) => id)]).toEqual([
            wanted.length,
            wanted.slice(1_200, 1_205).map(({ id }) => id),
          ])
        }
      }
    })
  })
})

describe('a removal of many records', () => {
  const DAG = dagOf('many')
  const removal = { accountId: ACCOUNT, dag: DAG, clusterId: null, now: 1 }

  async function withMany(run: (world: World) => Promise<void>): Promise<void> {
    await withCatalogue(async world => {
      const content = world.open()
      const records = Array.from({ length: 420 }, () => recordOf(DAG))
      await commit(world, content, [...records, recordOf(dagOf('other')), recordOf(DAG, { accountId: 'another' })])
      await indexed(world)
      world.db.reset()
      await run(world)
    })
  }

  /** Waits for the index of words, which catches up in transactions of its own. */
  async function indexed({ db, queue }: World): Promise<void> {
    const waiting = db.prepare<[], { count: number }>('SELECT COUNT(*) AS count FROM search_pending')
    for (let before = -1; before !== waiting.get()?.count; ) {
      before = waiting.get()?.count ?? 0
      await new Promise(resolve => setImmediate(resolve))
      await queue.settled()
    }
  }

  async function expectRemoved(world: World): Promise<void> {
    const { records } = world.open()
    expect(await records.usage(ACCOUNT, 1)).toEqual({ pins: 1, expiringPins: 0, storedBytes: 512 })
    expect(await records.ofDag({ ...removal, limit: 10 })).toEqual([])
    expect(await records.usage('another', 1)).toMatchObject({ pins: 1 })
    // The other account's record keeps the root.
    expect(world.roots.find(0, DAG, 0)).toBeDefined()
    await records.remove({ ...removal, accountId: 'another' })
    expect(world.roots.find(0, DAG, 0)).toBeUndefined()
    const left = world.db.prepare<[], { count: number }>('SELECT (SELECT COUNT(*) FROM removals) AS count').get()
    expect(left).toEqual({ count: 0 })
  }

  test('takes many short transactions of a few records each', async () => {
    await withMany(async world => {
      const removed = await world.open().records.remove(removal)
      expect(removed).toHaveLength(420)
      expect(new Set(removed.map(record => record.id)).size).toBe(420)
      expect(world.db.mostRows).toBeLessThanOrEqual(50)
      expect(world.db.transactions).toBeGreaterThanOrEqual(9)
      await expectRemoved(world)
    })
  })

  test.each([1, 2, 5, 8])('interrupted after %d transactions is finished at the next start', async transactions => {
    await withMany(async world => {
      world.db.transactionsLeft = transactions
      await expect(world.open().records.remove(removal)).rejects.toThrow('the process has ended')
      world.db.transactionsLeft = Number.POSITIVE_INFINITY
      await world.open().records.finishRemovals()
      await expectRemoved(world)
    })
  })

  test('stored a minute ago is finished with the next expiry', async () => {
    await withMany(async world => {
      world.db.transactionsLeft = 2
      await expect(world.open().records.remove(removal)).rejects.toThrow('the process has ended')
      world.db.transactionsLeft = Number.POSITIVE_INFINITY
      const { usage, expire } = world.open().records
      const left = await usage(ACCOUNT, 1)
      await expire(removal.now + 60_000, 10)
      expect(await usage(ACCOUNT, 1)).toEqual(left)
      await expire(removal.now + 60_001, 10)
      await expectRemoved(world)
    })
  })

  test('interrupted delays neither an expiry nor another removal', async () => {
    await withMany(async world => {
      const content = world.open()
      await commit(world, content, [
        ...Array.from({ length: 150 }, () => recordOf(DAG, { accountId: 'another' })),
        ...Array.from({ length: 3 }, (_, i) => recordOf(dagOf(`ends ${i}`), { expiresAt: 9 })),
      ])
      for (const accountId of [ACCOUNT, 'another']) {
        await indexed(world)
        world.db.transactionsLeft = 1
        await expect(world.open().records.remove({ ...removal, accountId })).rejects.toThrow('the process has ended')
        world.db.transactionsLeft = Number.POSITIVE_INFINITY
      }
      const { usage, expire } = world.open().records
      const pins = async () => [(await usage(ACCOUNT, 1)).pins, (await usage('another', 1)).pins]
      const [many, other] = (await pins()) as [number, number]
      const seen: Array<{ expired: number; pins: number[] }> = []
      for (let i = 0; i < 3; i++) {
        const { length: expired } = await expire(removal.now + 60_001, 1)
        seen.push({ expired, pins: await pins() })
      }
      expect(seen).toEqual([
        { expired: 1, pins: [many - 51, other] },
        { expired: 1, pins: [many - 52, other - 50] },
        { expired: 1, pins: [many - 103, other - 50] },
      ])
      await expire(removal.now + 60_001, 1)
      expect(await pins()).toEqual([1, 0])
    })
  })

  test('interrupted before its first transaction removes nothing', async () => {
    await withMany(async world => {
      world.db.transactionsLeft = 0
      await expect(world.open().records.remove(removal)).rejects.toThrow('the process has ended')
      world.db.transactionsLeft = Number.POSITIVE_INFINITY
      await world.open().records.finishRemovals()
      expect(await world.open().records.usage(ACCOUNT, 1)).toMatchObject({ pins: 421 })
    })
  })
})

describe('fetches', () => {
  function request(name: string, more: Partial<NewRecord> = {}, limits: Partial<PinLimits> = {}) {
    const record = recordOf(dagOf(name), { type: 'pin', status: 'queued', ...more })
    return { record, owner: 0, backendId: 0, origins: [], limits: { ...NO_LIMITS, ...limits }, now: 0 }
  }

  test('are read a few at a time, by account in turn', async () => {
    await withCatalogue(async world => {
      const { fetches } = world.open()
      const many = Array.from({ length: 600 }, () => fetches.request(request(randomBytes(16).toString('hex'))))
      await Promise.all(many)
      await fetches.request(request('theirs', { accountId: 'another' }))
      world.db.reset()
      const { jobs: due, last } = await fetches.due({ now: 1, after: '', accounts: 64, each: 16 })
      expect(due.map(fetch => fetch.accountId)).toEqual([...Array<string>(16).fill(ACCOUNT), 'another'])
      expect(last).toBeNull()
      expect(world.db.mostRows).toBeLessThanOrEqual(16)
      expect(world.db.read.length).toBeLessThanOrEqual(5)
    })
  })

  test('are limited by the plan until one has ended', async () => {
    await withCatalogue(async world => {
      const { fetches } = world.open()
      const limits = { maxQueuedPins: 2 }
      const first = await fetches.request(request('a', {}, limits))
      await fetches.request(request('b', {}, limits))
      await expect(fetches.request(request('c', {}, limits))).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
      expect((await fetches.request(request('c', {}, { maxQueuedPins: null }))).created).toBe(true)
      expect((await fetches.request(request('d', { accountId: 'another' }, limits))).created).toBe(true)
      await fetches.refuse([first.record.id], { code: null, text: 'refused' }, 1)
      await fetches.refuse([(await fetches.request(request('a2'))).record.id], { code: null, text: 'refused' }, 1)
      await expect(fetches.request(request('e', {}, limits))).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
      expect((await fetches.request(request('e', {}, { maxQueuedPins: 3 }))).created).toBe(true)
    })
  })

  test('are delivered in steps, and kept until the last record has them', async () => {
    await withCatalogue(async world => {
      const content = world.open()
      const asked = await Promise.all(
        Array.from({ length: 130 }, () => content.fetches.request(request('shared', { accountId: 'another' }))),
      )
      const fetchId = asked[0]?.fetchId ?? 0
      await content.fetches.start(fetchId, 1)
      await content.fetches.complete(fetchId, { ...dagOf('shared'), ...SIZES })
      const limits = new Map([['another', NO_LIMITS]])
      const first = await content.fetches.deliver(fetchId, limits, 2)
      expect([first.changes.length, first.isDone]).toEqual([50, false])
      // The process ends, and the next one continues.
      const next = world.open().fetches
      expect(await next.resume(3)).toHaveLength(80)
      const started = await next.start(fetchId, 4)
      expect(started?.fetch.isWhole).toBe(true)
      expect((await next.deliver(fetchId, limits, 5)).isDone).toBe(false)
      expect(world.roots.find(0, dagOf('shared'), 0)).toBeDefined()
      expect((await next.deliver(fetchId, limits, 6)).isDone).toBe(true)
      expect(await content.records.usage('another', 7)).toMatchObject({ pins: 130, storedBytes: 512 })
      await content.records.remove({ accountId: 'another', dag: dagOf('shared'), clusterId: null, now: 8 })
      expect(world.roots.find(0, dagOf('shared'), 0)).toBeUndefined()
    })
  })
})
