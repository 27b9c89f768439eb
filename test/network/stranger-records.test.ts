import { join } from 'node:path'
import { peerIdFromString } from '@libp2p/peer-id'
import { LevelDatastore } from 'datastore-level'
import { Key } from 'interface-datastore'
import { expect, test } from 'vitest'
import { StrangerRecords } from '../../src/network/stranger-records.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { withTempDir } from '../support/temp-dir.ts'

const MOST_VALUES = 1_024
const OWN = peerIdFromString('12D3KooWGC6TvWhfapngX6wvJHMYvKpDMXPb3ZnCZ6dMoaMtimQ5')
const value = (index: number): Key => new Key(`/dht/record/${index}`)

function fail(error: unknown): never {
  throw error
}

interface Opened {
  records: StrangerRecords
  store: LevelDatastore
  clock: ManualClock
  sweeps: () => number
}

function withRecords(run: (opened: Opened) => Promise<void>): Promise<void> {
  return withTempDir(async dir => {
    const store = new LevelDatastore(join(dir, 'datastore'))
    await store.open()
    const clock = new ManualClock()
    const records = new StrangerRecords(store, clock)
    let sweeps = 0
    const forEach = async (): Promise<void> => {
      sweeps++
    }
    await records.start({ peerId: OWN, peerStore: { forEach } }, fail)
    try {
      await run({ records, store, clock, sweeps: () => sweeps })
    } finally {
      await records.stop()
      await store.close()
    }
  })
}

async function countOf(store: LevelDatastore, prefix: string): Promise<number> {
  let count = 0
  for await (const _ of store.queryKeys({ prefix })) count++
  return count
}

test('a new record beyond the limit is not stored; known ones change', () =>
  withRecords(async ({ records, store }) => {
    for (let index = 0; index < MOST_VALUES + 100; index++) await records.put(value(index), Uint8Array.of(1))
    expect(await countOf(store, '/dht/record/')).toBe(MOST_VALUES)
    await records.put(value(0), Uint8Array.of(2))
    expect([...(await records.get(value(0)))]).toEqual([2])
  }))

test("this node's own records have no limit", () =>
  withRecords(async ({ records, store }) => {
    for (let index = 0; index < MOST_VALUES; index++) await records.put(value(index), Uint8Array.of(1))
    await records.put(new Key(`/dht/record/own/${OWN}`), Uint8Array.of(1))
    await records.put(new Key('/holdfast/good-peers'), Uint8Array.of(1))
    expect(await store.has(new Key(`/dht/record/own/${OWN}`))).toBe(true)
    expect(await store.has(new Key('/holdfast/good-peers'))).toBe(true)
  }))

test('expired peers are deleted and records counted each hour', () =>
  withRecords(async ({ records, store, clock, sweeps }) => {
    for (let index = 0; index < MOST_VALUES; index++) await records.put(value(index), Uint8Array.of(1))
    expect(sweeps()).toBe(1)
    await records.delete(value(0))
    await records.put(value(MOST_VALUES), Uint8Array.of(1))
    expect(await store.has(value(MOST_VALUES))).toBe(false)
    clock.advance(3_600_000)
    await expect
      .poll(async () => {
        await records.put(value(MOST_VALUES), Uint8Array.of(1))
        return store.has(value(MOST_VALUES))
      })
      .toBe(true)
    expect(sweeps()).toBe(2)
  }))
