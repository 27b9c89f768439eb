import { expect, test } from 'vitest'
import type { RecordRow } from '../../src/catalogue/records.ts'
import { cidOf } from '../../src/ipld/cid.ts'
import { PinList, type PinListParts } from '../../src/pins/lists/pin-list.ts'
import { PinStatusView } from '../../src/pins/lists/pin-status-view.ts'
import { SearchRoom } from '../../src/pins/lists/search-room.ts'
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

test('a long page waits for room, a short one does not', async () => {
  const room = watchedRoom()
  const plan = { pageLimit: { default: 50, max: 1_000 } }
  const list = new PinList({
    targets: { requester: async () => ({ account: { id: 'one' }, plan }) },
    catalogue: { records: { page: async () => ({ rows: [], total: 0 }), newestOf: async () => undefined } },
    clock: new ManualClock(NOW),
    room,
  } as unknown as PinListParts)
  for (const parentCid of [undefined, CID]) {
    room.rows.most = 0
    await list.list({ account: 'one', limit: 100, parentCid })
    expect(room.rows.most).toBe(0)
    await list.list({ account: 'one', limit: 600, parentCid })
    expect(room.rows.most).toBe(600)
  }
})
