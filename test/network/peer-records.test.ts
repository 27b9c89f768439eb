import { join } from 'node:path'
import { LevelDatastore } from 'datastore-level'
import { Key } from 'interface-datastore'
import { describe, expect, test } from 'vitest'
import { PeerRecords } from '../../src/network/peer-records.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { withTempDir } from '../support/temp-dir.ts'

const peer = (index: number): Key => new Key(`/peers/${index}`)

/** Counts writes. */
class CountingStore extends LevelDatastore {
  puts = 0

  override put(key: Key, value: Uint8Array): Promise<Key> {
    this.puts++
    return super.put(key, value)
  }
}

function withRecords(run: (records: PeerRecords, store: CountingStore, clock: ManualClock) => Promise<void>) {
  return withTempDir(async dir => {
    const store = new CountingStore(join(dir, 'datastore'))
    await store.open()
    const clock = new ManualClock()
    try {
      await run(new PeerRecords(store, clock), store, clock)
    } finally {
      await store.close()
    }
  })
}

describe('a peer record', () => {
  test('is written once a minute, and reads return the latest', () =>
    withRecords(async (records, store, clock) => {
      for (let value = 0; value < 100; value++) {
        await records.put(peer(1), Uint8Array.of(value))
        expect(await records.get(peer(1))).toEqual(Uint8Array.of(value))
      }
      expect([store.puts, (await store.get(peer(1)))[0]]).toEqual([1, 0])
      clock.advance(60_000)
      await records.put(peer(1), Uint8Array.of(200))
      expect([store.puts, (await store.get(peer(1)))[0]]).toEqual([2, 200])
    }))

  test('reaches the store on flush and before a query', () =>
    withRecords(async (records, store) => {
      const twice = async (index: number): Promise<void> => {
        await records.put(peer(index), Uint8Array.of(1))
        await records.put(peer(index), Uint8Array.of(2))
      }
      await twice(1)
      await records.flush()
      expect((await store.get(peer(1)))[0]).toBe(2)
      await twice(2)
      const found: number[] = []
      for await (const { value } of records.query({ prefix: '/peers/' })) found.push(value[0] ?? 0)
      expect(found).toEqual([2, 2])
      const puts = store.puts
      await records.flush()
      expect(store.puts).toBe(puts)
    }))

  test('beyond the limit stays in the store, not in memory', () =>
    withRecords(async (records, store) => {
      for (const value of [1, 2]) await records.put(peer(0), Uint8Array.of(value))
      for (let index = 1; index <= 1_024; index++) await records.put(peer(index), Uint8Array.of(1))
      expect((await store.get(peer(0)))[0]).toBe(2)
      expect((await records.get(peer(0)))[0]).toBe(2)
    }))

  test('is gone after its deletion', () =>
    withRecords(async records => {
      for (const value of [1, 2]) await records.put(peer(1), Uint8Array.of(value))
      await records.delete(peer(1))
      expect(await records.has(peer(1))).toBe(false)
      await records.flush()
      await expect(records.get(peer(1))).rejects.toThrow()
    }))

  test('is delayed, but other keys are written at once', () =>
    withRecords(async (records, store) => {
      for (const value of [1, 2, 3]) await records.put(new Key('/pkcs8/self'), Uint8Array.of(value))
      expect([store.puts, (await store.get(new Key('/pkcs8/self')))[0]]).toEqual([3, 3])
    }))
})
