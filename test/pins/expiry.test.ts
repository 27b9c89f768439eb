import { describe, expect, test } from 'vitest'
import type { PinRecord } from '../../src/index.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { turns } from '../support/content-parts.ts'
import { readFile, viaGateway } from '../support/read-back.ts'
import { EMPTY, storeSizes, withDatabase } from '../support/store-inspection.ts'
import { type TestEngine, withEngine } from '../support/test-engine.ts'

const DAY = 24 * 3_600_000

function uploadFor(test: TestEngine, ms: number | null, seed = 'expiring', account = test.account): Promise<PinRecord> {
  const timelock = ms === null ? undefined : new Date(test.clock.now() + ms).toISOString()
  return test.engine.pins.upload(pseudoRandom(100_000, seed), { account, timelock }).then(({ record }) => record)
}

/** Collects the ids of records that expire from now on. */
function expirations(test: TestEngine): string[] {
  const seen: string[] = []
  test.engine.events.on('pin:removed', ({ record, reason }) => {
    if (reason === 'expired') seen.push(record.uploadId)
  })
  return seen
}

/** Waits until the due work of the sweeper is on disk. Writes are answered in order. */
async function swept(test: TestEngine): Promise<void> {
  for (let step = 0; step < 10; step++) {
    await turns(2)
    await test.newAccount()
  }
}

/** Advances the time without firing timers, as if the sweeper were late. */
function passSilently(test: TestEngine, ms: number): void {
  const { clock } = test
  const after = clock.now() + ms
  clock.now = () => after
}

describe('expiry', () => {
  test('a record expires at its exact instant, however late the sweeper', async () => {
    await withEngine(async test => {
      const { engine, account } = test
      const { cid } = await uploadFor(test, 5_000)
      passSilently(test, 4_999)
      expect(await engine.pins.list({ account })).toMatchObject({ total: 1, items: [{ cid }] })
      expect((await viaGateway(engine, `/ipfs/${cid}`)).status).toBe(200)
      passSilently(test, 1)
      expect(await engine.pins.list({ account })).toMatchObject({ total: 0, items: [] })
      expect(await engine.pins.list({ account, hasExpiration: true })).toMatchObject({ total: 0, items: [] })
      expect(await engine.pins.list({ account, cid })).toMatchObject({ total: 0, items: [] })
      expect((await engine.pins.usage(account)).pins).toBe(0)
      expect((await viaGateway(engine, `/ipfs/${cid}`)).status).not.toBe(200)
      await expect(engine.pins.remove({ account, cid })).rejects.toMatchObject({ code: 'PIN_NOT_FOUND' })
      await expect(engine.pins.pin({ account, cid })).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
      // The sweeper has not run, so the row still exists.
      expect((await storeSizes(test.dataDir)).records).toBe(1)
    })
  })

  test('the sweeper removes expired records, emits events and frees their blocks', async () => {
    await withEngine(async test => {
      const seen = expirations(test)
      const [late, early] = [await uploadFor(test, 9_000, 'late'), await uploadFor(test, 3_000, 'early')]
      const forever = await uploadFor(test, null, 'forever')
      test.clock.advance(2_999)
      await swept(test)
      expect(seen).toEqual([])
      test.clock.advance(1)
      await swept(test)
      expect(seen).toEqual([early.uploadId])
      test.clock.advance(6_000)
      await swept(test)
      expect(seen).toEqual([early.uploadId, late.uploadId])
      expect(await test.engine.pins.usage(test.account)).toEqual({
        pins: 1,
        storedBytes: forever.dagSize,
        keptBytes: 0,
      })
      await test.engine.collect({ graceSeconds: 0 })
      expect((await storeSizes(test.dataDir)).blockFiles).toBe(1)
      expect(await readFile(await test.engine.clusters.backendOf(), forever.cid)).toHaveLength(100_000)
    })
  })

  test('an expiry beyond the longest timer is reached in several timers', async () => {
    await withEngine(async test => {
      const seen = expirations(test)
      const { uploadId } = await uploadFor(test, 30 * DAY)
      for (let day = 0; day < 29; day++) {
        test.clock.advance(DAY)
        await turns(3)
      }
      expect(seen).toEqual([])
      test.clock.advance(DAY - 1)
      await swept(test)
      expect(seen).toEqual([])
      test.clock.advance(1)
      await swept(test)
      expect(seen).toEqual([uploadId])
    })
  })

  test('a new earliest expiry wakes the sweeper', async () => {
    await withEngine(async test => {
      const seen = expirations(test)
      await uploadFor(test, 50_000, 'far')
      test.clock.advance(1_000)
      const near = await uploadFor(test, 2_000, 'near')
      test.clock.advance(2_000)
      await swept(test)
      expect(seen).toEqual([near.uploadId])
    })
  })

  test('records that expired during sleep or downtime are removed at once', async () => {
    await withEngine(async test => {
      const seen = expirations(test)
      const asleep = await uploadFor(test, DAY, 'asleep')
      test.clock.jump(3 * DAY)
      await swept(test)
      expect(seen).toEqual([asleep.uploadId])
      await uploadFor(test, DAY, 'stopped')
      await test.engine.stop()
      test.clock.advance(3 * DAY)
      await test.restart()
      test.clock.advance(0)
      await swept(test)
      await test.engine.collect({ graceSeconds: 0 })
      expect(await storeSizes(test.dataDir)).toEqual(EMPTY)
    })
  })

  test('more records than one batch expire at the same instant', async () => {
    await withEngine(async test => {
      const seen = expirations(test)
      const { pins } = test.engine
      const timelock = new Date(test.clock.now() + 1_000).toISOString()
      const names = Array.from({ length: 250 }, (_, i) => `name ${i}`)
      await Promise.all(names.map(name => pins.upload(Buffer.from('same'), { account: test.account, timelock, name })))
      expect((await pins.list({ account: test.account })).total).toBe(250)
      test.clock.advance(1_000)
      await swept(test)
      expect(new Set(seen).size).toBe(250)
      expect(
        withDatabase(test.dataDir, db => db.prepare('SELECT pins, expiring_pins, stored_bytes FROM accounts').get()),
      ).toEqual({
        pins: 0,
        expiring_pins: 0,
        stored_bytes: 0,
      })
    })
  })

  test('content stays until the last record that needs it expires', async () => {
    await withEngine(async test => {
      const other = await test.newAccount()
      const short = await uploadFor(test, 1_000)
      const long = await uploadFor(test, 9_000)
      const others = await uploadFor(test, 5_000, 'expiring', other)
      expect(new Set([short.cid, long.cid, others.cid]).size).toBe(1)
      expect(new Set([short.uploadId, long.uploadId, others.uploadId]).size).toBe(3)
      for (const [passed, left] of [
        [1_000, [1, 1]],
        [4_000, [1, 0]],
        [4_000, [0, 0]],
      ] as const) {
        test.clock.advance(passed)
        await swept(test)
        await test.engine.collect({ graceSeconds: 0 })
        const totals = await Promise.all([test.account, other].map(account => test.engine.pins.usage(account)))
        expect(totals.map(({ pins }) => pins)).toEqual(left)
        const { status } = await viaGateway(test.engine, `/ipfs/${short.cid}`)
        expect(status === 200).toBe(left[0] === 1)
      }
      expect(await storeSizes(test.dataDir)).toEqual(EMPTY)
    })
  })
})
