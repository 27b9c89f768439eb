import { describe, expect, test } from 'vitest'
import { settled } from '../../../src/testing/index.ts'
import { planOf } from '../../support/plans.ts'
import { EMPTY, storeSizes } from '../../support/store-inspection.ts'
import { bytesIn, chargeIn, directoryOf, leaf, randomFile } from './support/dags.ts'
import { type Node, quick, withNet } from './support/net.ts'

/** Long timeouts, so that only the events of a test end a pin. */
const patient = { ...quick, waitSeconds: 0.01, stallSeconds: 600 }

async function collected(node: Node) {
  await node.engine.collect({ graceSeconds: 0 })
  return storeSizes(node.dataDir)
}

describe('a pin that is removed during its fetch', () => {
  test('ends its fetch, and its blocks are collected', () =>
    withNet(async net => {
      const dag = randomFile(100, 30_000, 'removed')
      const provider = await net.provider(dag.blocks)
      provider.blocks.hangAfter(81)
      const node = await net.node({ network: { peers: [provider.address] }, pin: patient })
      const { account } = node
      const cid = dag.root.toString()
      await node.engine.pins.pin({ account, cid })
      await expect.poll(async () => (await node.engine.pins.status({ account, cid }))[0]?.blocks).toBeGreaterThan(40)
      await node.engine.pins.remove({ account, cid })
      expect(await collected(node)).toEqual(EMPTY)
      const { total } = provider.blocks
      await provider.blocks.answerAgain()
      // Requests are answered in order, so this one is answered after all earlier ones.
      for (const block of leaf(Buffer.from('next')).blocks) provider.blocks.put(block)
      await node.engine.pins.pin({ account, cid: leaf(Buffer.from('next')).root.toString() })
      expect(provider.blocks.total - total).toBeLessThan(32)
      await node.engine.pins.remove({ account, cid: leaf(Buffer.from('next')).root.toString() })
      expect(await collected(node)).toEqual(EMPTY)
      await expect(node.engine.pins.status({ account, cid })).rejects.toThrow('no pin for this cid')
    }))

  test('leaves no blocks at any moment, even during garbage collections', () =>
    withNet(async net => {
      const dags = Array.from({ length: 12 }, (_, i) => randomFile(60, 40_000, `moment ${i}`))
      const provider = await net.provider(dags.flatMap(({ blocks }) => blocks))
      const node = await net.node({ network: { peers: [provider.address] }, pin: patient })
      const { account } = node
      for (const [i, dag] of dags.entries()) {
        const cid = dag.root.toString()
        await node.engine.pins.pin({ account, cid, respondAsync: true })
        const enough = i * 5
        await expect
          .poll(async () => (await node.engine.pins.status({ account, cid }))[0]?.blocks, { interval: 1 })
          .toBeGreaterThanOrEqual(enough)
        await Promise.all([node.engine.pins.remove({ account, cid }), node.engine.collect({ graceSeconds: 0 })])
        await node.engine.collect({ graceSeconds: 0 })
      }
      expect(await collected(node)).toEqual(EMPTY)
    }))

  test('can be pinned again immediately', () =>
    withNet(async net => {
      const dag = randomFile(40, 30_000, 'again at once')
      const provider = await net.provider(dag.blocks)
      const node = await net.node({ network: { peers: [provider.address] }, pin: { ...quick, waitSeconds: 60 } })
      const { account } = node
      const cid = dag.root.toString()
      for (let round = 0; round < 5; round++) {
        await node.engine.pins.pin({ account, cid, respondAsync: true })
        await node.engine.pins.remove({ account, cid })
      }
      expect((await node.engine.pins.pin({ account, cid })).record.status).toBe('pinned')
      expect((await collected(node)).blocks).toBe(dag.blocks.length)
    }))

  test('that expires ends its fetch too', () =>
    withNet(async net => {
      const dag = randomFile(100, 30_000, 'expired')
      const provider = await net.provider(dag.blocks)
      provider.blocks.hangAfter(81)
      const node = await net.node({ network: { peers: [provider.address] }, pin: { ...patient, stallSeconds: 1e6 } })
      const { account } = node
      const timelock = new Date(node.clock.now() + 3_600_000).toISOString()
      await node.engine.pins.pin({ account, cid: dag.root.toString(), timelock })
      node.clock.advance(3_601_000)
      await settled(node.engine)
      expect(await collected(node)).toEqual(EMPTY)
    }))
})

describe('two accounts that pin one CID', () => {
  test('share one fetch that completes both', () =>
    withNet(async net => {
      const dag = randomFile(80, 20_000, 'shared')
      const provider = await net.provider(dag.blocks)
      const node = await net.node({ network: { peers: [provider.address] } })
      const accounts = [node.account, await node.newAccount(), await node.newAccount()]
      const cid = dag.root.toString()
      const outcomes = await Promise.all(accounts.map(account => node.engine.pins.pin({ account, cid })))
      expect(outcomes.map(({ created, record }) => [created, record.status])).toEqual(
        accounts.map(() => [true, 'pinned']),
      )
      for (const account of accounts) expect((await node.engine.pins.usage(account)).storedBytes).toBe(chargeIn(dag))
      for (const block of dag.blocks.slice(1)) expect(provider.blocks.count(block.cid)).toBe(1)
    }))

  test('are independent: one removes its pin, the other completes', () =>
    withNet(async net => {
      const dag = randomFile(100, 30_000, 'one leaves')
      const provider = await net.provider(dag.blocks)
      provider.blocks.hangAfter(81)
      const node = await net.node({ network: { peers: [provider.address] }, pin: patient })
      const other = await node.newAccount()
      const cid = dag.root.toString()
      await node.engine.pins.pin({ account: node.account, cid })
      expect((await node.engine.pins.pin({ account: other, cid })).record.status).toBe('pinning')
      await node.engine.pins.remove({ account: node.account, cid })
      await provider.blocks.answerAgain()
      await node.reached('pinned')
      expect((await node.engine.pins.status({ account: other, cid }))[0]?.record.status).toBe('pinned')
      expect(node.changes.filter(change => change === 'pinning>pinned').length).toBe(1)
      expect(provider.blocks.most).toBe(1)
      expect(await node.engine.pins.usage(node.account)).toEqual({ pins: 0, storedBytes: 0, keptBytes: 0 })
    }))

  test('are independent: a quota fails only its own account', () =>
    withNet(async net => {
      const dag = randomFile(100, 30_000, 'one is full')
      const provider = await net.provider(dag.blocks)
      provider.blocks.hangAfter(81)
      const plans = { small: planOf({ maxStorageBytes: 2_500_000 }) }
      const node = await net.node({ plans, network: { peers: [provider.address] }, pin: patient })
      const small = await node.newAccount('small')
      const cid = dag.root.toString()
      await node.engine.pins.pin({ account: small, cid, respondAsync: true })
      await node.engine.pins.pin({ account: node.account, cid, respondAsync: true })
      await expect
        .poll(async () => (await node.engine.pins.status({ account: small, cid }))[0]?.blocks)
        .toBeGreaterThan(40)
      await provider.blocks.answerAgain()
      await node.reached('pinned')
      expect((await node.engine.pins.status({ account: node.account, cid }))[0]?.record.status).toBe('pinned')
      const [refused] = await node.engine.pins.status({ account: small, cid })
      expect(refused?.record.status).toBe('failed')
      expect(refused?.reason).toContain('QUOTA_EXCEEDED')
      expect(await node.engine.pins.usage(small)).toEqual({ pins: 1, storedBytes: 0, keptBytes: 0 })
    }))
})

describe('DAGs that overlap', () => {
  test('fetch a shared block once', () =>
    withNet(async net => {
      const common = randomFile(30, 20_000, 'in both')
      const one = directoryOf({ common, own: leaf(Buffer.from('one')) })
      const two = directoryOf({ common, own: leaf(Buffer.from('two')) })
      const provider = await net.provider([...one.blocks, ...two.blocks])
      // The shared block is sent only after both fetches have requested it. A later fetch could request it again while
      // it is being written.
      const given = Promise.withResolvers<undefined>()
      const inBoth = new Set(common.blocks.map(({ cid }) => cid.toString()))
      provider.blocks.before = cid => (inBoth.has(cid.toString()) ? given.promise : undefined)
      const node = await net.node({ network: { peers: [provider.address] } })
      const { account } = node
      const cids = [one, two].map(({ root }) => root.toString())
      const pins = cids.map(cid => node.engine.pins.pin({ account, cid }))
      for (const cid of cids) {
        await expect.poll(async () => (await node.engine.pins.status({ account, cid }))[0]?.blocks).toBeGreaterThan(0)
      }
      given.resolve(undefined)
      for (const { record } of await Promise.all(pins)) expect(record.status).toBe('pinned')
      expect(provider.blocks.most).toBe(1)
      // This node already has the blocks below a pinned root.
      const { total } = provider.blocks
      expect((await node.engine.pins.pin({ account, cid: common.root.toString() })).record.status).toBe('pinned')
      expect(provider.blocks.total).toBe(total)
    }))
})

describe('a request', () => {
  test('with `respondAsync` is answered at once with a queued record', () =>
    withNet(async net => {
      const dag = randomFile(3, 1_000, 'async')
      const provider = await net.provider(dag.blocks)
      const node = await net.node({ network: { peers: [provider.address] } })
      const request = { account: node.account, cid: dag.root.toString() }
      const { record, created } = await node.engine.pins.pin({ ...request, respondAsync: true })
      expect({ created, status: record.status }).toEqual({ created: true, status: 'queued' })
      await node.reached('pinned')
      expect(node.changes).toEqual(['queued>pinning', 'pinning>pinned'])
      const again = await node.engine.pins.pin(request)
      expect(again).toMatchObject({ created: false, record: { uploadId: record.uploadId, status: 'pinned' } })
    }))

  test('receives progress', () =>
    withNet(async net => {
      const dag = randomFile(50, 30_000, 'progress')
      const provider = await net.provider(dag.blocks)
      const node = await net.node({ network: { peers: [provider.address] } })
      const told: Array<{ blocks: number; bytes: number }> = []
      const onProgress = (progress: { blocks: number; bytes: number }) => told.push(progress)
      await node.engine.pins.pin({ account: node.account, cid: dag.root.toString(), onProgress })
      expect(told.at(-1)).toEqual({ blocks: 51, bytes: bytesIn(dag) })
      expect(told.length).toBeGreaterThan(10)
    }))

  test('that is aborted leaves its pin to finish in the background', () =>
    withNet(async net => {
      const dag = randomFile(100, 30_000, 'hung up')
      const provider = await net.provider(dag.blocks)
      provider.blocks.hangAfter(81)
      const node = await net.node({ network: { peers: [provider.address] }, pin: { ...patient, waitSeconds: 600 } })
      const abort = new AbortController()
      const cid = dag.root.toString()
      const pinning = node.engine.pins.pin({ account: node.account, cid, signal: abort.signal })
      await node.reached('pinning')
      abort.abort()
      expect((await pinning).record.status).toBe('pinning')
      await provider.blocks.answerAgain()
      await node.reached('pinned')
    }))

  test('that is aborted before a provider is found records nothing', () =>
    withNet(async net => {
      const dag = randomFile(3, 1_000, 'hung up early')
      const provider = await net.provider(dag.blocks)
      provider.blocks.hangAfter(0)
      const node = await net.node({ network: { peers: [provider.address] }, pin: { ...quick, findTimeoutSeconds: 60 } })
      const abort = new AbortController()
      const pinning = node.engine.pins.pin({ account: node.account, cid: `${dag.root}`, signal: abort.signal })
      const ended = expect(pinning).rejects.toThrow('hung up')
      await expect.poll(() => provider.blocks.asked).toBe(1)
      abort.abort(new Error('hung up'))
      await ended
      expect(await storeSizes(node.dataDir)).toEqual(EMPTY)
    }))
})
