import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { NewRecord, RecordSearch } from '../../src/catalogue/records.ts'
import { questionOf } from '../../src/catalogue/sqlite/record-question.ts'
import type { WriteQueue } from '../../src/storage/write-queue.ts'
import { ANY_SEARCH } from './content-support.ts'
import { ACCOUNT, commit, dagOf, recordOf, type World, withCatalogue } from './sqlite-world.ts'

describe('a search', () => {
  const QUESTIONS: ReadonlyArray<Partial<RecordSearch>> = [
    { names: [{ text: 'NEEDLE', match: 'ipartial' }] },
    { names: [{ text: 'needle', match: 'partial' }], statuses: ['pinned'] },
    { meta: { found: 'yes' } },
    { meta: { found: 'yes' }, types: ['file', 'pin'] },
  ]

  const isCount = (sql: string): boolean => sql.includes('COUNT(*) AS count, MIN(expires_at)')

  /** Waits for the index, which a search has begun to update. */
  const indexed = async ({ db, queue }: World): Promise<void> => {
    const pending = db.prepare('SELECT 1 FROM search_pending')
    while (pending.get() !== undefined) await queue.settled()
  }

  test('for a rare word takes few statements, in either order', async () => {
    await withCatalogue(async world => {
      const content = world.open()
      const skip = world.db.prepare<[number]>('UPDATE search_lists SET last = last + ?')
      const needles: string[] = []
      // Simulates many records between those of the test.
      for (let i = 0; i < 4; i++) {
        const more = i === 3 ? { createdAt: i, expiresAt: 5 } : { createdAt: i }
        const common = Array.from({ length: 70 }, (_, n) => recordOf(dagOf('a'), { ...more, name: `a file ${i} ${n}` }))
        const found = recordOf(dagOf('b'), { ...more, name: `a needle ${i}`, meta: '{"found":"yes"}' })
        await commit(world, content, [...common, found])
        needles.unshift(found.id)
        skip.run(900_000)
      }
      // The first search has the changed records indexed.
      const first = { accountId: ACCOUNT, multihash: null, hasExpiration: false, now: 1, search: ANY_SEARCH }
      await content.records.page(first, 0, 1)
      await indexed(world)
      for (const question of QUESTIONS) {
        for (const oldestFirst of [false, true]) {
          for (const now of [1, 9]) {
            const search = { ...ANY_SEARCH, ...question, oldestFirst }
            const filter = { accountId: ACCOUNT, multihash: null, hasExpiration: false, now, search }
            const live = now === 9 ? needles.slice(1) : needles
            const wanted = oldestFirst ? live.toReversed() : live
            world.db.reset()
            const { rows, total } = await content.records.page(filter, 1, 2)
            expect([total, rows.map(({ id }) => id)]).toEqual([wanted.length, wanted.slice(1, 3)])
            // Two statements for every search. Three for each of four blocks: its first record and whether any has
            // changed, the records with a rare word, and their rows.
            expect(world.db.read.length).toBeLessThanOrEqual(2 + 4 * 3)
            const walked: string[] = []
            for (let after: string | null = null, isMore = true; isMore; isMore = after !== null) {
              const { rows, next } = await content.records.walk(filter, { after, limit: 2 })
              walked.push(...rows.map(({ id }) => id))
              after = next
            }
            expect(walked).toEqual(wanted)
          }
        }
      }
      const all = {
        ...ANY_SEARCH,
        names: [{ text: 'A FILE', match: 'ipartial' as const }],
      }
      const filter = { accountId: ACCOUNT, multihash: null, hasExpiration: false, now: 1, search: all }
      expect((await content.records.page(filter, 0, 3)).total).toBe(280)
    })
  })

  test('counts more than 10,000 matches only as far as the page', async () => {
    await withCatalogue(async world => {
      const content = world.open()
      const records = Array.from({ length: 10_030 }, (_, i) =>
        recordOf(dagOf('a'), { createdAt: i, name: `file ${i}` }),
      )
      for (let i = 0; i < records.length; i += 500) await commit(world, content, records.slice(i, i + 500))
      const page = (search: Partial<RecordSearch>, offset: number) =>
        content.records.page(
          { accountId: ACCOUNT, multihash: null, hasExpiration: false, now: 1, search: { ...ANY_SEARCH, ...search } },
          offset,
          20,
        )
      await page({ names: [{ text: 'l', match: 'ipartial' }] }, 0)
      await indexed(world)
      await page({ names: [{ text: 'l', match: 'ipartial' }] }, 0)
      world.db.reset()
      await page({ names: [{ text: 'l', match: 'ipartial' }] }, 0)
      expect(world.db.read.filter(isCount)).toEqual([])
      for (const text of ['e', 'file']) {
        const names = [{ text, match: 'ipartial' as const }]
        for (const offset of [0, 5_000, 9_990, 10_000]) {
          const { rows, total, totalIsLowerBound } = await page({ names }, offset)
          expect(rows.map(({ id }) => id)).toEqual(
            records
              .toReversed()
              .slice(offset, offset + 20)
              .map(({ id }) => id),
          )
          expect(totalIsLowerBound).toBe(true)
          expect(total).toBeGreaterThan(offset + 20)
          expect(total).toBeLessThanOrEqual(10_030)
        }
        const { rows, ...totals } = await page({ names }, 10_020)
        expect([rows.length, totals]).toEqual([10, { total: 10_030 }])
      }
      expect(await page({ types: ['file'], before: 9_000_000 }, 0)).toMatchObject({ total: 10_030 })
      expect(await page({ types: ['file'] }, 0)).not.toHaveProperty('totalIsLowerBound')
    })
  })

  test('counts a block once, whatever the bounds of time beyond its records', async () => {
    await withCatalogue(async world => {
      const content = world.open()
      // The clock is set back in the middle of the block.
      for (const createdAt of [5_000, 1_000]) {
        const some = Array.from({ length: 70 }, (_, i) =>
          recordOf(dagOf('a'), { createdAt, name: `file ${createdAt} ${i}` }),
        )
        await commit(world, content, some)
      }
      const page = (bounds: Partial<RecordSearch>) => {
        const search = { ...ANY_SEARCH, types: ['file' as const], ...bounds }
        const filter = { accountId: ACCOUNT, multihash: null, hasExpiration: false, now: 1, search }
        return content.records.page(filter, 0, 5)
      }
      await page({})
      await indexed(world)
      await page({})
      for (const bounds of [{ before: 90_000 }, { after: -9_000 }, { before: 90_001, after: -9_000 }]) {
        world.db.reset()
        expect(await page(bounds)).toMatchObject({ total: 140 })
        expect(world.db.read.filter(isCount)).toEqual([])
      }
      expect(await page({ before: 3_000 })).toMatchObject({ total: 70 })
    })
  })

  test('repeats a count until a record of its block changes', async () => {
    await withCatalogue(async world => {
      const content = world.open()
      const records = Array.from({ length: 100 }, (_, i) =>
        recordOf(dagOf('a'), { createdAt: 0, expiresAt: i % 2 === 0 ? 50 : null, meta: '{"k":"v"}' }),
      )
      await commit(world, content, records)
      const total = async (asked: Partial<RecordSearch>, now: number): Promise<number> => {
        const filter = {
          accountId: ACCOUNT,
          multihash: null,
          hasExpiration: false,
          now,
          search: { ...ANY_SEARCH, ...asked },
        }
        return (await content.records.page(filter, 0, 5)).total
      }
      const files = { types: ['file' as const] }
      await total(files, 1)
      await indexed(world)
      expect([await total(files, 1), await total(files, 60), await total(files, 1)]).toEqual([100, 50, 100])
      await content.records.discard(records[1]?.id ?? '')
      expect(await total(files, 1)).toBe(99)
      await indexed(world)
      expect(await total(files, 1)).toBe(99)
      expect(await total({ meta: { k: 'v' } }, 1)).toBe(99)
      const change = { accountId: ACCOUNT, id: records[3]?.id ?? '', name: undefined, meta: '{"k":"w"}', now: 1 }
      await content.records.rename(change)
      expect(await total({ meta: { k: 'v' } }, 1)).toBe(98)
      await indexed(world)
      expect(await total({ visibility: 'private' }, 1)).toBe(0)
      await content.records.setOwner({ accountId: ACCOUNT, id: records[5]?.id ?? '', owner: 77, now: 1 })
      expect(await total({ visibility: 'private' }, 1)).toBe(1)
    })
  })

  test('needs the word of a CID unless there is another', () => {
    const required = (...names: string[]): string[] => {
      const search = { ...ANY_SEARCH, multihashes: names.map(name => dagOf(name).multihash) }
      return questionOf({ accountId: ACCOUNT, multihash: null, hasExpiration: false, now: 1, search }).required(0)
    }
    expect([required('a').length, required('a', 'b').length]).toEqual([1, 0])
  })

  test('looks up few entries of meta, and compares the others', async () => {
    await withCatalogue(async world => {
      const content = world.open()
      const meta = Object.fromEntries(Array.from({ length: 64 }, (_, i) => [`key ${i}`, 'yes']))
      const records = Array.from({ length: 1_400 }, (_, i) =>
        recordOf(dagOf('a'), {
          createdAt: i,
          meta: JSON.stringify(i % 2 === 0 ? meta : { ...meta, 'key 63': 'no' }),
        }),
      )
      await commit(world, content, records)
      const wanted = records.filter((_, i) => i % 2 === 0).map(({ id }) => id)
      for (const oldestFirst of [false, true]) {
        const search = { ...ANY_SEARCH, meta, oldestFirst }
        const filter = { accountId: ACCOUNT, multihash: null, hasExpiration: false, now: 1, search }
        expect(questionOf(filter).query(0).split(' AND ').length).toBeLessThanOrEqual(9)
        const ids = oldestFirst ? wanted : wanted.toReversed()
        for (const offset of [0, 240, 690]) {
          const { rows, ...totals } = await content.records.page(filter, offset, 20)
          expect([rows.map(({ id }) => id), totals]).toEqual([ids.slice(offset, offset + 20), { total: 700 }])
        }
        const walked: string[] = []
        for (let after: string | null = null, isMore = true; isMore; isMore = after !== null) {
          const { rows, next } = await content.records.walk(filter, { after, limit: 300 })
          walked.push(...rows.map(({ id }) => id))
          after = next
        }
        expect(walked).toEqual(ids)
      }
    })
  })

  test('reads a block only as far as a page needs', async () => {
    await withCatalogue(async world => {
      const content = world.open()
      const records = Array.from({ length: 1_400 }, (_, i) => recordOf(dagOf('a'), { createdAt: i, name: `file ${i}` }))
      await commit(world, content, records)
      const names = [{ text: 'file', match: 'partial' as const }]
      for (const oldestFirst of [false, true]) {
        const search = { ...ANY_SEARCH, names, oldestFirst }
        const filter = { accountId: ACCOUNT, multihash: null, hasExpiration: false, now: 1, search }
        const wanted = (oldestFirst ? records : records.toReversed()).map(({ id }) => id)
        expect((await content.records.page(filter, 1_390, 20)).rows.map(({ id }) => id)).toEqual(wanted.slice(1_390))
        const walked: string[] = []
        for (let after: string | null = null, isMore = true; isMore; isMore = after !== null) {
          world.db.reset()
          const { rows, next } = await content.records.walk(filter, { after, limit: 300 })
          expect(world.db.mostRows).toBeLessThanOrEqual(500)
          expect(world.db.read.filter(sql => sql.includes('SELECT id,')).length).toBeLessThanOrEqual(1)
          walked.push(...rows.map(({ id }) => id))
          after = next
        }
        expect(walked).toEqual(wanted)
      }
    })
  })

  test('never waits for the index, and writers do', async () => {
    await withCatalogue(async world => {
      // The queue never runs work that others may overtake.
      const queue: WriteQueue = Object.create(world.queue, {
        run: {
          value: (work: () => unknown, options: Parameters<WriteQueue['run']>[1]) =>
            options.patient === true ? new Promise(() => undefined) : world.queue.run(work, options),
        },
      })
      const content = world.open(queue)
      const pending = world.db.prepare<[], { count: number }>('SELECT COUNT(*) AS count FROM search_pending')
      const page = (now: number) => {
        const search = { ...ANY_SEARCH, names: [{ text: 'RARE', match: 'ipartial' as const }] }
        return content.records.page({ accountId: ACCOUNT, multihash: null, hasExpiration: false, now, search }, 0, 5)
      }
      for (let i = 0; i < 3_000; i += 300) {
        const some = Array.from({ length: 300 }, (_, n) =>
          recordOf(dagOf('a'), {
            createdAt: i,
            expiresAt: 5 + i + n,
            name: i + n === 2_999 ? 'a rare name' : 'a name',
          }),
        )
        await commit(world, content, some)
      }
      expect(pending.get()?.count).toBeGreaterThan(1_900)
      expect(pending.get()?.count).toBeLessThanOrEqual(2_000)
      world.db.reset()
      expect(await page(1)).toMatchObject({ total: 1 })
      expect(world.db.transactions).toBe(0)
      expect(await page(9_000)).toMatchObject({ total: 0 })
      expect(world.db.transactions).toBe(0)
    })
  })

  test('finds what a scan finds, while records, names and clocks change', async () => {
    await withCatalogue(async world => {
      const content = world.open()
      const skip = world.db.prepare<[number]>('UPDATE search_lists SET last = last + ?')
      const clock = { now: 1_000_000 }
      let kept: NewRecord[] = []
      const isLive = ({ expiresAt }: NewRecord): boolean => expiresAt === null || expiresAt > clock.now
      const change = {
        commit: async (pick: number) => {
          const some = Array.from({ length: 1 + (pick % 5) }, (_, i) =>
            recordOf(dagOf('abc'[(pick + i) % 3] ?? 'a'), {
              name:
                pick % 7 === 0
                  ? null
                  : `${['x', 'y', 'É'][(pick + i) % 3]}-${pick % 2 === 0 ? 'name' : 'Name'} ${pick % 11}`,
              type: pick % 2 === 0 ? 'file' : 'directory',
              meta: pick % 3 === 0 ? JSON.stringify({ k: `${pick % 2}` }) : null,
              createdAt: clock.now,
              expiresAt: pick % 4 === 0 ? clock.now + (pick % 3_000) : null,
            }),
          )
          const committed = await commit(world, content, some)
          kept.push(...some.filter((_, i) => committed[i]?.created))
        },
        remove: async (pick: number) => {
          const [gone] = kept.splice(pick % Math.max(kept.length, 1), 1)
          if (gone !== undefined) await content.records.discard(gone.id)
        },
        rename: async (pick: number) => {
          const one = kept[pick % Math.max(kept.length, 1)]
          if (one === undefined || !isLive(one)) return
          one.name = `renamed ${pick % 5}`
          await content.records.rename({
            accountId: ACCOUNT,
            id: one.id,
            name: one.name,
            meta: undefined,
            now: clock.now,
          })
        },
        hide: async (pick: number) => {
          const one = kept[pick % Math.max(kept.length, 1)]
          if (one === undefined || !isLive(one)) return
          one.owner = one.owner === 0 ? 77 : 0
          await content.records.setOwner({ accountId: ACCOUNT, id: one.id, owner: one.owner, now: clock.now })
        },
        skip: async (pick: number) => void skip.run(pick % 40_000),
        wait: async (pick: number) => {
          clock.now += pick % 2_000
        },
        'set the clock back': async (pick: number) => {
          clock.now -= pick % 5_000
        },
        expire: async () => {
          const expired = await content.records.expire(clock.now, 10)
          kept = kept.filter(({ id }) => !expired.some(record => record.id === id))
        },
      }
      const search = fc.record({
        names: fc.constantFrom(
          [],
          [{ text: 'NAME', match: 'ipartial' as const }],
          [{ text: 'x', match: 'ipartial' as const }],
          [{ text: 'renamed 2', match: 'exact' as const }],
          [{ text: 'e 1', match: 'partial' as const }],
          [{ text: 'Name', match: 'partial' as const }],
          [{ text: 'Y-NAME 3', match: 'iexact' as const }],
          [{ text: 'É', match: 'ipartial' as const }],
        ),
        meta: fc.constantFrom({}, {}, { k: '1' }),
        types: fc.constantFrom([], [], ['file' as const]),
        statuses: fc.constantFrom([], ['pinned' as const]),
        visibility: fc.constantFrom(null, null, 'public' as const, 'private' as const),
        multihashes: fc.constantFrom([], [], [dagOf('a').multihash], [dagOf('b').multihash, dagOf('c').multihash]),
        before: fc.option(fc.nat(6_000), { freq: 3 }),
        after: fc.option(fc.nat(6_000), { freq: 3 }),
        oldestFirst: fc.boolean(),
      })
      const step = fc.tuple(fc.constantFrom(...(Object.keys(change) as Array<keyof typeof change>)), fc.nat(1_000_000))
      await fc.assert(
        fc.asyncProperty(step, search, fc.boolean(), fc.nat(12), async ([kind, pick], asked, hasExpiration, offset) => {
          await change[kind](pick)
          const ago = (ms: number | null): number | null => (ms === null ? null : clock.now - ms)
          const search = { ...asked, before: ago(asked.before), after: ago(asked.after) }
          const filter = { accountId: ACCOUNT, multihash: null, hasExpiration, now: clock.now, search }
          const found = kept.filter(record => isLive(record) && matches(record, search, hasExpiration))
          const wanted = (search.oldestFirst ? found : found.toReversed()).map(({ id }) => id)
          const { rows, total } = await content.records.page(filter, offset, 7)
          expect([total, rows.map(({ id }) => id)]).toEqual([wanted.length, wanted.slice(offset, offset + 7)])
          const walked = await content.records.walk(filter, { after: null, limit: 9 })
          expect(walked.rows.map(({ id }) => id)).toEqual(wanted.slice(0, 9))
          expect(walked.next === null).toBe(wanted.length <= 9)
        }),
        { numRuns: 600 },
      )
    })
  })
})

function matches(record: NewRecord, search: RecordSearch, hasExpiration: boolean): boolean {
  const name = record.name ?? ''
  const isNamed = search.names.every(({ text, match }) => {
    if (match === 'exact') return name === text
    if (match === 'iexact') return name.toLowerCase() === text.toLowerCase()
    return match === 'partial' ? name.includes(text) : name.toLowerCase().includes(text.toLowerCase())
  })
  const contents = search.multihashes.map(content => Buffer.from(content).toString('hex'))
  return (
    isNamed &&
    (search.meta.k === undefined || JSON.parse(record.meta ?? '{}').k === search.meta.k) &&
    (search.types.length === 0 || search.types.includes(record.type)) &&
    (search.visibility === null || (search.visibility === 'public') === (record.owner === 0)) &&
    (contents.length === 0 || contents.includes(Buffer.from(record.multihash).toString('hex'))) &&
    (search.before === null || record.createdAt < search.before) &&
    (search.after === null || record.createdAt > search.after) &&
    (!hasExpiration || record.expiresAt !== null)
  )
}
