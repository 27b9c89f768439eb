import { describe, expect, test } from 'vitest'
import type { DirectoryEntry, EngineConfig, PinOutcome } from '../../src/index.ts'
import { StorageReservations, UploadBudget } from '../../src/pins/upload/upload-budget.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { turns } from '../support/content-parts.ts'
import { planOf } from '../support/plans.ts'
import { EMPTY, storeSizes } from '../support/store-inspection.ts'
import { type TestEngine, withEngine } from '../support/test-engine.ts'

const MiB = 1024 ** 2

const plans: NonNullable<EngineConfig['plans']> = {
  storage: planOf({ maxStorageBytes: 3 * MiB }),
  tight: planOf({ maxStorageBytes: 1_100, maxFileBytes: 500, maxDirectoryBytes: 700 }),
  pins: planOf({ maxPins: 2 }),
  sizes: planOf({ maxFileBytes: 2 * MiB, maxDirectoryBytes: 3 * MiB, maxDirectoryFiles: 3 }),
}

function withPlan(plan: string, run: (test: TestEngine) => Promise<void>): Promise<void> {
  return withEngine(
    async test => {
      test.account = await test.newAccount(plan)
      await run(test)
    },
    { plans },
  )
}

function upload({ engine, account }: TestEngine, size: number, seed = 'quota', name?: string): Promise<PinOutcome> {
  const bytes = pseudoRandom(size, seed)
  return engine.pins.upload([bytes.subarray(0, 1_000), bytes.subarray(1_000)], { account, name })
}

function uploadFiles({ engine, account }: TestEngine, sizes: number[]): Promise<PinOutcome> {
  const entries = (async function* (): AsyncGenerator<DirectoryEntry> {
    for (const [i, size] of sizes.entries()) yield { kind: 'file', path: `f${i}`, content: pseudoRandom(size, `f${i}`) }
  })()
  return engine.pins.uploadDirectory(entries, { account })
}

const code = (name: string) => ({ code: name })

describe('limits of a plan', () => {
  test('a file of exactly the limit is accepted, one more byte refused', async () => {
    await withPlan('sizes', async test => {
      expect((await upload(test, 2 * MiB)).record.size).toBe(2 * MiB)
      await expect(upload(test, 2 * MiB + 1)).rejects.toMatchObject(code('FILE_TOO_LARGE'))
      await test.engine.pins.remove({ account: test.account, cid: (await upload(test, 2 * MiB)).record.cid })
      await test.engine.collect({ graceSeconds: 0 })
      expect(await storeSizes(test.dataDir)).toEqual(EMPTY)
    })
  })

  test('a directory at its limits passes; the exceeded limit decides the code', async () => {
    await withPlan('sizes', async test => {
      expect((await uploadFiles(test, [MiB, MiB, MiB])).record.size).toBe(3 * MiB)
      await expect(uploadFiles(test, [MiB, MiB, MiB + 1])).rejects.toMatchObject(code('DIRECTORY_TOO_LARGE'))
      await expect(uploadFiles(test, [1, 1, 1, 1])).rejects.toMatchObject(code('DIRECTORY_TOO_LARGE'))
      await expect(uploadFiles(test, [2 * MiB + 1])).rejects.toMatchObject(code('FILE_TOO_LARGE'))
    })
  })

  test('an upload names no more directories than its plan allows files', async () => {
    await withPlan('sizes', async ({ engine, account }) => {
      const nested = (count: number) =>
        Array.from({ length: count }, (_, i) => ({ kind: 'directory' as const, path: `d${i}` }))
      expect((await engine.pins.uploadDirectory(nested(3), { account })).created).toBe(true)
      await expect(engine.pins.uploadDirectory(nested(4), { account })).rejects.toMatchObject(
        code('DIRECTORY_TOO_LARGE'),
      )
    })
  })

  test('the size limit is checked before the quota', async () => {
    await withPlan('tight', async test => {
      await upload(test, 500, 'first')
      await expect(upload(test, 501, 'second')).rejects.toMatchObject(code('FILE_TOO_LARGE'))
      await expect(upload(test, 5_000, 'second')).rejects.toMatchObject(code('FILE_TOO_LARGE'))
      await expect(uploadFiles(test, [400, 400])).rejects.toMatchObject(code('DIRECTORY_TOO_LARGE'))
      expect((await upload(test, 500, 'second')).created).toBe(true)
      await expect(upload(test, 1, 'third')).rejects.toMatchObject(code('QUOTA_EXCEEDED'))
      await expect(upload(test, 501, 'third')).rejects.toMatchObject(code('FILE_TOO_LARGE'))
    })
  })

  test('a file announced above the limit is refused unread', async () => {
    await withPlan('sizes', async test => {
      let read = 0
      const source = (async function* (): AsyncGenerator<Uint8Array> {
        read++
        yield pseudoRandom(2 * MiB, 'announced')
      })()
      const { pins } = test.engine
      const options = { account: test.account, expectedBytes: 5 * MiB }
      await expect(pins.upload(source, options)).rejects.toMatchObject(code('FILE_TOO_LARGE'))
      expect(read).toBe(0)
      expect((await pins.upload(source, { ...options, expectedBytes: 2 * MiB + 1_000 })).created).toBe(true)
    })
  })

  test('storage accepts exactly its limit', async () => {
    await withPlan('storage', async test => {
      for (const seed of ['a', 'b', 'c']) await upload(test, MiB, seed)
      expect(await test.engine.pins.usage(test.account)).toEqual({ pins: 3, storedBytes: 3 * MiB, keptBytes: 0 })
      await expect(upload(test, 1, 'd')).rejects.toMatchObject(code('QUOTA_EXCEEDED'))
      await expect(uploadFiles(test, [1])).rejects.toMatchObject(code('QUOTA_EXCEEDED'))
    })
  })

  test('a repeated upload costs nothing, even at the limit', async () => {
    await withPlan('storage', async test => {
      for (const seed of ['a', 'b', 'c']) await upload(test, MiB, seed)
      const repeat = await upload(test, MiB, 'b')
      expect(repeat.created).toBe(false)
      expect((await upload(test, MiB, 'b', 'another name')).created).toBe(true)
      expect(await test.engine.pins.usage(test.account)).toEqual({ pins: 4, storedBytes: 3 * MiB, keptBytes: 0 })
      await test.engine.pins.remove({ account: test.account, cid: repeat.record.cid })
      expect(await test.engine.pins.usage(test.account)).toEqual({ pins: 2, storedBytes: 2 * MiB, keptBytes: 0 })
      expect((await upload(test, MiB, 'd')).created).toBe(true)
    })
  })

  test('parallel uploads cannot exceed the quota together', async () => {
    await withPlan('storage', async test => {
      const seeds = [...'abcdefgh']
      const outcomes = await Promise.allSettled(seeds.map(seed => upload(test, MiB, seed)))
      const refused = outcomes.flatMap(outcome => (outcome.status === 'rejected' ? [outcome.reason] : []))
      for (const error of refused) expect(error).toMatchObject(code('QUOTA_EXCEEDED'))
      const { pins, storedBytes } = await test.engine.pins.usage(test.account)
      expect(storedBytes).toBe(pins * MiB)
      expect(storedBytes).toBeLessThanOrEqual(3 * MiB)
      // The reservations of the refused uploads are released.
      for (let i = pins; i < 3; i++) await upload(test, MiB, `later ${i}`)
      await expect(upload(test, MiB, 'one more')).rejects.toMatchObject(code('QUOTA_EXCEEDED'))
    })
  })

  test('accounts have separate quotas', async () => {
    await withPlan('storage', async test => {
      const other = await test.newAccount('storage')
      await Promise.all([...'abc'].map(seed => upload(test, MiB, seed)))
      const theirs = { ...test, account: other }
      await Promise.all([...'abc'].map(seed => upload(theirs, MiB, seed)))
      expect((await test.engine.pins.usage(other)).storedBytes).toBe(3 * MiB)
    })
  })

  test('failed uploads release their reservation', async () => {
    await withPlan('storage', async test => {
      // Each piece reserves quota for the blocks stored before it.
      const slowly = async function* (seed: string): AsyncGenerator<Uint8Array> {
        for (let i = 0; i < 2; i++) {
          yield pseudoRandom(MiB, `${seed} ${i}`)
          while ((await storeSizes(test.dataDir)).blockFiles <= i) await turns(1)
          await turns(100)
        }
        yield pseudoRandom(10, seed)
        if (seed === 'failing') throw new Error('the client has gone')
      }
      const failing = test.engine.pins.upload(slowly('failing'), { account: test.account })
      await expect(failing).rejects.toThrow('the client has gone')
      await test.engine.collect({ graceSeconds: 0 })
      expect((await test.engine.pins.upload(slowly('whole'), { account: test.account })).created).toBe(true)
    })
  })

  test('running uploads share the rest of the quota', () => {
    const plan = { name: 'storage', ...planOf({ maxStorageBytes: 3 * MiB }) }
    const reservations = new StorageReservations()
    let isHeld = false
    const budget = () => {
      const options = { plan, storedBytes: 0, isDirectory: false, isHeld: () => isHeld }
      return new UploadBudget({ ...options, reservation: reservations.begin('a') })
    }
    const refused = expect.objectContaining(code('QUOTA_EXCEEDED'))
    const [one, two] = [budget(), budget()]
    one.reserve(2 * MiB)
    expect(() => two.reserve(2 * MiB)).toThrow(refused)
    two.reserve(MiB)
    one.giveBack()
    two.reserve(3 * MiB)
    two.giveBack()
    one.reserve(3 * MiB)
    isHeld = true
    one.giveBack()
    expect(() => two.reserve(1)).toThrow(refused)
  })

  test('a stream without end is cut off at the quota', async () => {
    await withPlan('storage', async test => {
      let given = 0
      const endless = (async function* (): AsyncGenerator<Uint8Array> {
        for (;;) yield pseudoRandom(MiB, `endless ${given++}`)
      })()
      await expect(test.engine.pins.upload(endless, { account: test.account })).rejects.toMatchObject(
        code('QUOTA_EXCEEDED'),
      )
      expect(given).toBeLessThan(60)
      await test.engine.collect({ graceSeconds: 0 })
      expect(await storeSizes(test.dataDir)).toEqual(EMPTY)
    })
  })

  test('the pin limit ignores repeats, and a removal frees a pin', async () => {
    await withPlan('pins', async test => {
      const outcomes = await Promise.allSettled([...'abcde'].map(seed => upload(test, 10, seed)))
      expect(outcomes.filter(outcome => outcome.status === 'fulfilled')).toHaveLength(2)
      const [kept] = (await test.engine.pins.list({ account: test.account })).items
      if (kept === undefined) throw new Error('nothing kept')
      await expect(test.engine.pins.pin({ account: test.account, cid: kept.cid })).resolves.toMatchObject({
        created: false,
      })
      await expect(upload(test, 10, 'f')).rejects.toMatchObject(code('QUOTA_EXCEEDED'))
      await test.engine.pins.remove({ account: test.account, cid: kept.cid })
      expect((await upload(test, 10, 'f')).created).toBe(true)
    })
  })

  test('pinning content of another account counts against the quota', async () => {
    await withPlan('storage', async test => {
      const rich = await test.newAccount('unlimited')
      const { record } = await upload({ ...test, account: rich }, 4 * MiB, 'rich')
      const request = { account: test.account, cid: record.cid }
      await expect(test.engine.pins.pin(request)).rejects.toMatchObject(code('QUOTA_EXCEEDED'))
      expect(await test.engine.pins.usage(test.account)).toEqual({ pins: 0, storedBytes: 0, keptBytes: 0 })
    })
  })
})
