import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { DirectoryEntry, ListQuery } from '../../src/index.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { planOf } from '../support/plans.ts'
import { type TestEngine, withEngine } from '../support/test-engine.ts'

const plans = {
  paged: planOf({ pageLimit: { default: 7, max: 10 } }),
  huge: planOf({ pageLimit: { default: 7, max: 1_000_000 } }),
}
const FILES = ['a/1', 'a/2', 'b/c/3', 'top', 'twin-1', 'twin-2']

async function* tree(): AsyncGenerator<DirectoryEntry> {
  for (const path of FILES) {
    yield { kind: 'file', path, content: pseudoRandom(100, path.startsWith('twin') ? 'twin' : path) }
  }
}

/**
 * Runs with an account that has 23 file records of four CIDs, three of them created in the same millisecond, and then a
 * directory.
 */
function withRecords(run: (test: TestEngine, ids: string[]) => Promise<void>): Promise<void> {
  return withEngine(
    async test => {
      test.account = await test.newAccount('paged')
      const ids: string[] = []
      for (let i = 0; i < 23; i++) {
        if (i % 3 === 0) test.clock.advance(1_000)
        const timelock = i % 4 === 0 ? new Date(test.clock.now() + 3_600_000).toISOString() : undefined
        const options = { account: test.account, timelock, name: `n${i}` }
        ids.push((await test.engine.pins.upload(Buffer.from(`content ${i % 4}`), options)).record.uploadId)
      }
      await run(test, ids)
    },
    { plans },
  )
}

async function everyPage(test: TestEngine, query: Omit<ListQuery, 'account' | 'page'>) {
  const first = await test.engine.pins.list({ account: test.account, ...query })
  const pages = await Promise.all(
    Array.from(
      { length: first.totalPages },
      async (_, i) => (await test.engine.pins.list({ account: test.account, ...query, page: i + 1 })).items,
    ),
  )
  return { first, pages, items: pages.flat() }
}

describe('lists', () => {
  test('all pages together list every record exactly once, newest first', async () => {
    await withRecords(async (test, ids) => {
      const { items } = await test.engine.pins.list({ account: test.account, limit: 3 })
      const cid = items.find(item => item.uploadId === ids[22])?.cid ?? ''
      await fc.assert(
        fc.asyncProperty(
          fc.option(fc.integer({ min: 1, max: 30 }), { nil: undefined }),
          fc.option(fc.constant(cid), { nil: undefined }),
          fc.option(fc.boolean(), { nil: undefined }),
          async (limit, cid, hasExpiration) => {
            const { first, pages, items } = await everyPage(test, { limit, cid, hasExpiration })
            const wanted = ids.filter(
              (_, i) => (cid === undefined || i % 4 === 22 % 4) && (hasExpiration !== true || i % 4 === 0),
            )
            expect(items.map(item => item.uploadId)).toEqual(wanted.toReversed())
            expect(first.total).toBe(wanted.length)
            expect(first.limit).toBe(Math.min(limit ?? 7, 10))
            expect(pages.slice(0, -1).every(page => page.length === first.limit)).toBe(true)
          },
        ),
        { numRuns: 60 },
      )
    })
  })

  test('a page past the end is empty and has the true total', async () => {
    await withRecords(async test => {
      const { cid } = (await test.engine.pins.uploadDirectory(tree(), { account: test.account })).record
      const twin = (await test.engine.pins.list({ account: test.account, parentCid: cid })).items[4]?.cid
      for (const page of [5, 1_000, 2 ** 31, 2 ** 40, Number.MAX_SAFE_INTEGER]) {
        const ask = async (query: Partial<ListQuery>) =>
          await test.engine.pins.list({ account: test.account, page, ...query })
        expect(await ask({})).toMatchObject({ items: [], total: 24, page })
        expect(await ask({ cid })).toMatchObject({ items: [], total: 1 })
        expect(await ask({ parentCid: cid })).toMatchObject({ items: [], total: FILES.length })
        expect(await ask({ parentCid: cid, cid: twin })).toMatchObject({ items: [], total: 2 })
      }
    })
  })

  test('a page beyond the largest integer of the database is empty', async () => {
    await withEngine(
      async test => {
        const account = await test.newAccount('huge')
        const { record, files } = await test.engine.pins.uploadDirectory(tree(), { account })
        const far = { account, page: Number.MAX_SAFE_INTEGER, limit: 1_000_000 }
        for (const query of [{}, { cid: record.cid }, { parentCid: record.cid }]) {
          expect((await test.engine.pins.list({ ...far, ...query })).items).toEqual([])
        }
        const twin = { parentCid: record.cid, cid: files[4]?.cid }
        expect(await test.engine.pins.list({ ...far, ...twin })).toMatchObject({ items: [], total: 2 })
      },
      { plans },
    )
  })

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])(
    'page or limit %d is refused, naming the field',
    async value => {
      await withRecords(async ({ engine, account }) => {
        const code = 'VALIDATION'
        await expect(engine.pins.list({ account, page: value })).rejects.toThrow(
          expect.objectContaining({ code, message: expect.stringContaining('page') }),
        )
        await expect(engine.pins.list({ account, limit: value })).rejects.toThrow(
          expect.objectContaining({ code, message: expect.stringContaining('limit') }),
        )
      })
    },
  )

  test('the files of a directory with several records are listed once', async () => {
    await withEngine(async test => {
      const { engine, account } = test
      const { record, files, totalFiles } = await engine.pins.uploadDirectory(tree(), { account, name: 'one' })
      await engine.pins.uploadDirectory(tree(), { account, name: 'two', timelock: '2031-01-01T00:00:00Z' })
      await engine.pins.uploadDirectory(tree(), { account, name: 'three', cluster: 'cl1-eu' })
      expect({ paths: files.map(file => file.path), totalFiles }).toEqual({ paths: FILES, totalFiles: FILES.length })
      const parentCid = record.cid
      const listed = await everyPage(test, { parentCid, limit: 4 })
      expect(listed.items.map(item => item.path)).toEqual(FILES)
      expect(listed.first).toMatchObject({ total: FILES.length, totalPages: 2 })
      for (const [i, item] of listed.items.entries()) {
        expect(item).toMatchObject({
          parentCid,
          cid: files[i]?.cid,
          size: 100,
          type: 'file',
          clusterId: expect.any(String),
        })
      }
      const twins = await everyPage(test, { parentCid, cid: files[4]?.cid, limit: 1 })
      expect(twins.items.map(item => item.path)).toEqual(['twin-1', 'twin-2'])
      expect((await everyPage(test, { parentCid, hasExpiration: true })).items).toHaveLength(FILES.length)
      expect((await engine.pins.list({ account })).items.map(item => item.name)).toEqual(
        expect.arrayContaining(['one', 'two', 'three']),
      )
    })
  })

  test('only the root of a live directory record can be a parent', async () => {
    await withEngine(async ({ engine, account }) => {
      const file = await engine.pins.upload(Buffer.from('x'), { account })
      const { record, files } = await engine.pins.uploadDirectory(tree(), { account })
      const nothing = { items: [], total: 0, totalPages: 0 }
      expect(await engine.pins.list({ account, parentCid: file.record.cid })).toMatchObject(nothing)
      expect(await engine.pins.list({ account, parentCid: files[0]?.cid })).toMatchObject(nothing)
      await engine.pins.remove({ account, cid: record.cid })
      expect(await engine.pins.list({ account, parentCid: record.cid })).toMatchObject(nothing)
      await expect(engine.pins.list({ account, parentCid: 'x' })).rejects.toThrow(
        expect.objectContaining({ code: 'INVALID_CID', message: expect.stringContaining('parentCid') }),
      )
    })
  })

  test('an answer has the first files and the count of all', async () => {
    await withEngine(async test => {
      const { engine, account } = test
      const many = (async function* (): AsyncGenerator<DirectoryEntry> {
        for (let i = 0; i < 1_234; i++) yield { kind: 'file', path: `d${i % 7}/f${i}`, content: Buffer.from(String(i)) }
      })()
      const { record, files, totalFiles } = await engine.pins.uploadDirectory(many, { account })
      expect([files.length, totalFiles]).toEqual([1_000, 1_234])
      const paths = (await everyPage(test, { parentCid: record.cid, limit: 500 })).items.map(item => item.path)
      expect(paths).toEqual(Array.from({ length: 1_234 }, (_, i) => `d${i % 7}/f${i}`))
    })
  })
})
