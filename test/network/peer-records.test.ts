import { join } from 'node:path'
import { LevelDatastore } from 'datastore-level'
import { Key } from 'interface-datastore'
import { describe, expect, test } from 'vitest'
import { PeerRecords } from '../../src/network/peer-records.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { withTempDir } from '../support/temp-dir.ts'

const peer = (index: number): Key => new Key(`/peers/${index}`)

/** Counts what is written. */
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

describe('what is known of peers', () => {
  test('is written once a minute, and what is known is the latest', () =>
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

  test('is in the store once it is flushed, and before it is looked through', () =>
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

  test('of very many is kept in the store, not in memory', () =>
    withRecords(async (records, store) => {
      for (const value of [1, 2]) await records.put(peer(0), Uint8Array.of(value))
      for (let index = 1; index <= 1_024; index++) await records.put(peer(index), Uint8Array.of(1))
      expect((await store.get(peer(0)))[0]).toBe(2)
      expect((await records.get(peer(0)))[0]).toBe(2)
    }))

  test('is gone when it is deleted', () =>
    withRecords(async records => {
      for (const value of [1, 2]) await records.put(peer(1), Uint8Array.of(value))
      await records.delete(peer(1))
      expect(await records.has(peer(1))).toBe(false)
      await records.flush()
      await expect(records.get(peer(1))).rejects.toThrow()
    }))

  test('alone waits: all else is written at once', () =>
    withRecords(async (records, store) => {
      for (const value of [1, 2, 3]) await records.put(new Key('/pkcs8/self'), Uint8Array.of(value))
      expect([store.puts, (await store.get(new Key('/pkcs8/self')))[0]]).toEqual([3, 3])
    }))
})
