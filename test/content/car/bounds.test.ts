import { createHash } from 'node:crypto'
import * as dagCbor from '@ipld/dag-cbor'
import { CID } from 'multiformats/cid'
import * as Digest from 'multiformats/hashes/digest'
import { describe, expect, test } from 'vitest'
import { CODEC, HASH } from '../../../src/ipld/cid.ts'
import { type Block, blockOf, directoryOf, fileOf, leaf, leaves, randomFile } from '../../pins/fetches/support/dags.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { gate, turns } from '../../support/content-parts.ts'
import { expectNothing } from '../../support/nothing-left.ts'
import { planOf } from '../../support/plans.ts'
import { dagBytes } from '../../support/read-back.ts'
import { withEngine } from '../../support/test-engine.ts'
import { carOf, headerOf, sectionOf, streamOf } from './support/cars.ts'

const MiB = 1024 ** 2

function hashed(code: number, name: string, bytes: Uint8Array): Block {
  const digest = createHash(name).update(bytes).digest()
  return { cid: CID.createV1(CODEC.raw, Digest.create(code, digest)), bytes }
}

describe('hashes', () => {
  test('with SHA-512 are checked, and unknown ones refused', async () => {
    await withEngine(async test => {
      const { engine, account } = test
      const long = hashed(HASH.sha2_512, 'sha512', pseudoRandom(50_000, 'long'))
      const { record } = await engine.pins.importCar(streamOf(await carOf([long.cid], [long])), { account })
      expect(record).toMatchObject({ cid: long.cid.toString(), dagSize: 50_000 })
      await engine.pins.remove({ account, cid: record.cid })

      const wrong = { ...long, bytes: pseudoRandom(50_000, 'wrong') }
      const damaged = engine.pins.importCar(streamOf(await carOf([long.cid], [wrong])), { account })
      await expect(damaged).rejects.toMatchObject({ code: 'VALIDATION', message: expect.stringContaining(record.cid) })
      const unknown = hashed(0x15, 'sha3-384', Buffer.from('of a hash that is not known'))
      const foreign = engine.pins.importCar(streamOf(await carOf([long.cid], [long, unknown])), { account })
      await expect(foreign).rejects.toMatchObject({ code: 'INVALID_CID', message: expect.stringContaining('0x15') })
      await expectNothing(test)
    })
  })

  test('that are truncated are refused', async () => {
    await withEngine(async test => {
      const whole = leaf(Buffer.from('content'))
      const short = CID.createV1(CODEC.raw, Digest.create(HASH.sha2_256, whole.root.multihash.digest.subarray(0, 4)))
      const car = await carOf([short], [{ cid: short, bytes: Buffer.from('content') }])
      const refused = test.engine.pins.importCar(streamOf(car), { account: test.account })
      await expect(refused).rejects.toMatchObject({ code: 'VALIDATION' })
      await expectNothing(test)
    })
  })

  test('that are identities need no block, but their links do', async () => {
    await withEngine(async test => {
      const child = leaf(Buffer.from('linked to by an identity'))
      const inline = CID.createV1(CODEC.dagCbor, Digest.create(HASH.identity, dagCbor.encode([child.root])))
      const root = blockOf(CODEC.dagCbor, dagCbor.encode({ inline }))
      const { engine, account } = test
      const holed = engine.pins.importCar(streamOf(await carOf([root.cid], [root])), { account })
      await expect(holed).rejects.toMatchObject({ message: expect.stringContaining(child.root.toString()) })
      const car = await carOf([root.cid, inline], [root, ...child.blocks])
      const { roots } = await engine.pins.importCar(streamOf(car), { account })
      expect(roots.map(({ record }) => record.dagSize)).toEqual([root.bytes.length + child.size, child.size])
      expect((await dagBytes(await engine.clusters.backendOf(), root.cid.toString())).blocks.size).toBe(3)
    })
  })
})

test('a block that does not match its codec is refused', async () => {
  await withEngine(async test => {
    const node = blockOf(CODEC.dagPb, Buffer.from('not dag-pb at all'))
    const refused = test.engine.pins.importCar(streamOf(await carOf([node.cid], [node])), { account: test.account })
    await expect(refused).rejects.toMatchObject({
      code: 'INVALID_CID',
      message: expect.stringContaining(`${node.cid}`),
    })
    await expectNothing(test)
  })
})

describe('limits of the plan', () => {
  const plans = {
    tight: planOf({ maxStorageBytes: 300_000, maxPins: 2, maxDirectoryBytes: 10 * MiB }),
    small: planOf({ maxDirectoryBytes: 100_000 }),
  }

  test('end an import over the storage, and count concurrent ones together', async () => {
    await withEngine(
      async test => {
        const account = await test.newAccount('tight')
        let asked = 0
        const endless = async function* (): AsyncGenerator<Uint8Array> {
          const dag = randomFile(2, 10, 'endless')
          yield headerOf({ version: 1, roots: [dag.root] })
          for (; asked < 10_000; asked++) {
            const { cid, bytes } = blockOf(CODEC.raw, pseudoRandom(10_000, asked))
            yield sectionOf(cid.bytes, bytes)
          }
        }
        const refused = test.engine.pins.importCar(endless(), { account })
        await expect(refused).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
        expect(asked).toBeLessThan(2_000)

        const dags = [0, 1, 2].map(i => randomFile(4, 40_000, `together ${i}`))
        const cars = await Promise.all(dags.map(({ root, blocks }) => carOf([root], blocks)))
        const settled = await Promise.allSettled(
          cars.map(car => test.engine.pins.importCar(streamOf(car), { account })),
        )
        const made = settled.filter(({ status }) => status === 'fulfilled').length
        expect(made).toBeLessThanOrEqual(1)
        expect((await test.engine.pins.usage(account)).pins).toBe(made)
      },
      { plans },
    )
  })

  test('count every root as a pin, and refuse all of them', async () => {
    await withEngine(
      async test => {
        const account = await test.newAccount('tight')
        const dags = leaves(3, 1_000, 'pins')
        const roots = dags.map(({ root }) => root)
        const blocks = dags.flatMap(dag => dag.blocks)
        const refused = test.engine.pins.importCar(streamOf(await carOf(roots, blocks)), { account })
        await expect(refused).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
        await expectNothing(test, account)
        const two = await carOf(roots.slice(1), blocks)
        expect((await test.engine.pins.importCar(streamOf(two), { account })).roots).toHaveLength(2)
      },
      { plans },
    )
  })

  test('apply to the size of the whole CAR, before the storage', async () => {
    await withEngine(
      async test => {
        const account = await test.newAccount('small')
        const file = leaf(pseudoRandom(50_000, 'size'))
        const small = await carOf([file.root], file.blocks)
        const padded = await carOf([file.root], [...file.blocks, ...leaf(pseudoRandom(60_000, 'padding')).blocks])
        const refused = test.engine.pins.importCar(streamOf(padded), { account })
        await expect(refused).rejects.toMatchObject({ code: 'DIRECTORY_TOO_LARGE' })
        await expectNothing(test, account)
        expect((await test.engine.pins.importCar(streamOf(small), { account })).created).toBe(true)
        // A few blocks may stand for more content than the plan allows.
        const repeated = directoryOf({ many: fileOf(Array.from({ length: 10 }, () => file)) })
        const dense = await carOf([repeated.root], repeated.blocks)
        const tooMuch = test.engine.pins.importCar(streamOf(dense), { account })
        await expect(tooMuch).rejects.toMatchObject({ code: 'DIRECTORY_TOO_LARGE' })
      },
      { plans },
    )
  })
})

test('a CAR may have a hundred roots, and no more', async () => {
  await withEngine(async test => {
    const dags = leaves(101, 10, 'roots')
    const blocks = dags.flatMap(dag => dag.blocks)
    const importOf = async (count: number) => {
      const roots = dags.slice(0, count).map(({ root }) => root)
      return test.engine.pins.importCar(streamOf(await carOf(roots, blocks)), { account: test.account })
    }
    await expect(importOf(101)).rejects.toMatchObject({ code: 'VALIDATION', message: expect.stringContaining('100') })
    await expectNothing(test)
    expect((await importOf(100)).roots).toHaveLength(100)
  })
})

describe('an interrupted import', () => {
  test('ends at once with its signal, and leaves nothing', async () => {
    await withEngine(async test => {
      const file = randomFile(4, 300_000, 'interrupted')
      const car = await carOf([file.root], file.blocks)
      const controller = new AbortController()
      const hanging = gate()
      const source = async function* (): AsyncGenerator<Uint8Array> {
        yield* streamOf(car.subarray(0, 800_000))
        hanging.open()
        await new Promise<never>(() => undefined)
      }
      const importing = test.engine.pins.importCar(source(), { account: test.account, signal: controller.signal })
      await hanging.opened
      await turns(5)
      controller.abort()
      await expect(importing).rejects.toMatchObject({ code: 'ABORTED' })
      await expectNothing(test)
    })
  })

  test('leaves nothing after a broken source or a collection at any time', async () => {
    await withEngine(async test => {
      const { engine, account } = test
      const file = randomFile(4, 300_000, 'broken')
      const car = await carOf([file.root], file.blocks)
      for (const length of [0, 10, 100_000, 400_000, 1_000_000, car.length]) {
        const source = async function* (): AsyncGenerator<Uint8Array> {
          yield* streamOf(car.subarray(0, length))
          await engine.collect({ graceSeconds: 0 })
          throw new Error('broken pipe')
        }
        await expect(engine.pins.importCar(source(), { account })).rejects.toThrow('broken pipe')
      }
      const late = (target: { cluster?: string; timelock?: string; customName?: string }) =>
        engine.pins.importCar(streamOf(car), { account, late: async () => target })
      await expect(late({ cluster: 'nowhere' })).rejects.toMatchObject({ code: 'CLUSTER_NOT_ALLOWED' })
      await expect(late({ timelock: 'tomorrow' })).rejects.toMatchObject({ code: 'INVALID_TIMELOCK' })
      await expect(late({ customName: 'x'.repeat(256) })).rejects.toMatchObject({ code: 'VALIDATION' })
      await expectNothing(test)
    })
  })

  test('leaves nothing for the next start when the engine stops', async () => {
    await withEngine(async test => {
      const file = randomFile(4, 300_000, 'stopped')
      const car = await carOf([file.root], file.blocks)
      const hanging = gate()
      const source = async function* (): AsyncGenerator<Uint8Array> {
        yield* streamOf(car)
        hanging.open()
        await new Promise<never>(() => undefined)
      }
      const importing = test.engine.pins.importCar(source(), { account: test.account })
      const refused = expect(importing).rejects.toMatchObject({ code: 'ABORTED' })
      await hanging.opened
      await test.restart()
      await refused
      await expectNothing(test)
    })
  })
})

test('memory stays constant for a CAR of any size', async () => {
  await withEngine(async ({ engine, account }) => {
    const count = 256
    // The same bytes except for a number, so that the test itself costs little.
    const bytesOf = (index: number): Uint8Array => {
      const bytes = Buffer.alloc(MiB)
      bytes.writeUInt32LE(index)
      return bytes
    }
    const parts = Array.from({ length: count }, (_, index) => {
      const { cid } = blockOf(CODEC.raw, bytesOf(index))
      return { root: cid, blocks: [], size: MiB }
    })
    const file = fileOf(parts)
    let highest = 0
    const source = async function* (): AsyncGenerator<Uint8Array> {
      yield headerOf({ version: 1, roots: [file.root] })
      for (const [index, { root }] of parts.entries()) {
        yield sectionOf(root.bytes, bytesOf(index))
        highest = Math.max(highest, process.memoryUsage().rss)
      }
      for (const { cid, bytes } of file.blocks) yield sectionOf(cid.bytes, bytes)
    }
    const before = process.memoryUsage().rss
    const { record } = await engine.pins.importCar(source(), { account })
    expect(record.size).toBe(count * MiB)
    expect(highest - before).toBeLessThan(150 * MiB)
  })
})
