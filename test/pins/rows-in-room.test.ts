import { expect, test } from 'vitest'
import type { RecordRow } from '../../src/catalogue/records.ts'
import type { Services } from '../../src/contract/services.ts'
import { psaPageOf } from '../../src/features/psa/list.ts' // feature: psa
import { cidOf } from '../../src/ipld/cid.ts'
import { PinList, type PinListParts } from '../../src/pins/lists/pin-list.ts'
import { PinStatusView } from '../../src/pins/lists/pin-status-view.ts'
import { SearchRoom } from '../../src/pins/lists/search-room.ts'
import { MOST_SORTED, MOST_SORTED_META, SortedLists } from '../../src/pins/lists/sorted-list.ts'
import type { ListQuery } from '../../src/pins/pin-types.ts'
import { DAG, NOW, record } from '../catalogue/content-support.ts'
import { ManualClock } from '../support/manual-clock.ts'

const CID = cidOf(DAG).toString()

/** Returns a room that tells how many rows are read in it now, and at once until now. */
function watchedRoom() {
  const room = new SearchRoom(2 ** 30, new ManualClock(NOW))
  const rows = { now: 0, most: 0 }
  const hold: SearchRoom['hold'] = (account, count, read) =>
    room.hold(account, count, async () => {
      rows.now += count
      rows.most = Math.max(rows.most, rows.now)
      try {
        return await read()
      } finally {
        rows.now -= count
      }
    })
  return { rows, hold }
}

const rowsOf = (count: number): RecordRow[] =>
  Array.from({ length: count }, (_, i) => ({ ...record(`r${i}`), rootId: 1, dagSize: 1, charge: 512, fetchId: null }))

test('a status of many records reads its rows in room', async () => {
  const room = watchedRoom()
  const heldWhenAsked: number[] = []
  let contents = 0
  const viewOf = (count: number) =>
    new PinStatusView(
      {
        records: { ofDag: async ({ limit }: { limit: number }) => rowsOf(count).slice(0, limit) },
        files: { content: async () => void contents++ },
      } as never,
      { attempt: () => undefined } as never,
      new ManualClock(NOW),
      {
        isExternal: () => true,
        hasCopies: () => false,
        peersOf: async () => {
          heldWhenAsked.push(room.rows.now)
          return []
        },
      },
      async () => room,
    )
  const query = { cid: CID, cluster: null, peers: true }
  expect(await viewOf(4).status('one', query)).toHaveLength(4)
  expect([room.rows.most, contents]).toEqual([0, 1])
  const many = await viewOf(900).status('one', query)
  expect(many.map(({ peers }) => peers)).toEqual(Array(900).fill([]))
  expect([room.rows.most, contents]).toEqual([1_000, 3])
  expect(heldWhenAsked).toEqual([0, 0])
  expect(await viewOf(9).status('one', { ...query, peers: false })).toHaveLength(9)
})

/** Returns a list that reads in this room. */
function listIn(room: ReturnType<typeof watchedRoom>, records: object): PinList {
  const plan = { pageLimit: { default: 50, max: 1_000 } }
  return new PinList({
    targets: { requester: async () => ({ account: { id: 'one' }, plan }) },
    catalogue: { records },
    clock: new ManualClock(NOW),
    room,
  } as unknown as PinListParts)
}

test('a long page waits for room, a short one does not', async () => {
  const room = watchedRoom()
  const list = listIn(room, { page: async () => ({ rows: [], total: 0 }), newestOf: async () => undefined })
  for (const parentCid of [undefined, CID]) {
    room.rows.most = 0
    await list.list({ account: 'one', limit: 100, parentCid })
    expect(room.rows.most).toBe(0)
    await list.list({ account: 'one', limit: 600, parentCid })
    expect(room.rows.most).toBe(600)
  }
})

// feature: psa
test('a pinning service list reads its pages in room', async () => {
  const room = watchedRoom()
  const heldWhenRead: number[] = []
  const list = listIn(room, {
    page: async (_: unknown, __: number, limit: number) => {
      heldWhenRead.push(room.rows.now)
      return { rows: rowsOf(Math.min(limit, 900)), total: 900 }
    },
  })
  const pins = { list: (query: ListQuery) => list.list(query) } as Services['pins']
  const { items } = await psaPageOf(pins, 'one', { status: ['pinned'], limit: 300 })
  expect(items).toHaveLength(900)
  expect(heldWhenRead).toEqual([301, 1_000])
})
// end

test('a sorted list drops metadata, and reads that of its page', async () => {
  const room = watchedRoom()
  const meta = JSON.stringify({ much: 'm'.repeat(4_000) })
  const all = rowsOf(MOST_SORTED).map((row, i) => ({ ...row, size: i, meta }))
  const records = {
    page: async () => ({ rows: [], total: all.length }),
    walk: async (_: unknown, { after, limit }: { after: string | null; limit: number }) => {
      const end = Number(after) + limit
      return { rows: all.slice(Number(after), end), next: end < all.length ? String(end) : null }
    },
    get: async (id: string) => all.find(row => row.id === id),
  }
  const { rows } = await new SortedLists(records as never).read({ accountId: 'one' } as never, '-size')
  expect(rows.map(({ size }) => size)).toEqual(all.map(({ size }) => size).toReversed())
  const kept = rows.reduce((sum, row) => sum + (row.meta?.length ?? 0), 0)
  expect(kept).toBeLessThanOrEqual(MOST_SORTED_META)
  expect(kept).toBeGreaterThan(MOST_SORTED_META / 2)
  const { items } = await listIn(room, records).list({ account: 'one', sort: '-size', limit: 20 })
  expect(items.map(item => item.meta)).toEqual(Array(20).fill(JSON.parse(meta)))
  // Each row of the room may have 16 KiB, and each character two bytes.
  expect(room.rows.most * 16 * 1_024).toBeGreaterThan(2 * MOST_SORTED_META)
  expect(room.rows.most).toBe(MOST_SORTED / 8 + 20)
})
