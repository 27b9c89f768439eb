import { describe, expect, test } from 'vitest'
import { EMPTY, storeSizes } from '../../support/store-inspection.ts'
import { leaf, randomFile } from './support/dags.ts'
import { deadPort, type Node, quick, unknownCid, withNet, withStillNet } from './support/net.ts'

async function expectNothingKept(node: Node): Promise<void> {
  expect((await node.engine.pins.list({ account: node.account })).total).toBe(0)
  expect(await storeSizes(node.dataDir)).toEqual(EMPTY)
  expect(node.changes).toEqual([])
}

/** Expects the pin to fail well before the time limit for finding a root. */
async function expectNotFound(pinning: Promise<unknown>, withinMs: number): Promise<void> {
  const started = performance.now()
  await expect(pinning).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
  expect(performance.now() - started).toBeLessThan(withinMs)
}

describe('a CID without provider', () => {
  test('is not found without peers to ask, and nothing is recorded', () =>
    withNet(async net => {
      const node = await net.node({ pin: { findTimeoutSeconds: 600 } })
      await expectNotFound(node.engine.pins.pin({ account: node.account, cid: unknownCid }), 60_000)
      await expectNothingKept(node)
    }))

  test('is not found as soon as the only peer denies having it', () =>
    withNet(async net => {
      const { address } = await net.provider(randomFile(2, 100, 'other').blocks)
      const node = await net.node({ network: { peers: [address] }, pin: { findTimeoutSeconds: 600 } })
      for (const _ of [1, 2]) {
        await expectNotFound(node.engine.pins.pin({ account: node.account, cid: unknownCid }), 60_000)
      }
      await expectNothingKept(node)
    }))

  test('is not found at the time limit if a peer is silent', () =>
    withNet(async net => {
      const provider = await net.provider([])
      provider.blocks.has = () => true
      provider.blocks.get = () => new Promise(() => undefined)
      const node = await net.node({
        network: { peers: [provider.address] },
        pin: { ...quick, findTimeoutSeconds: 0.5 },
      })
      await expectNotFound(node.engine.pins.pin({ account: node.account, cid: unknownCid }), 60_000)
      await expectNothingKept(node)
    }))

  test('is not found if its origin does not listen', () =>
    withNet(async net => {
      const node = await net.node()
      const request = { account: node.account, cid: unknownCid, origins: [deadPort] }
      await expectNotFound(node.engine.pins.pin(request), 60_000)
      await expectNothingKept(node)
    }))

  test('fails in the background with a reason, and is retried until found', () =>
    withNet(async net => {
      const dag = randomFile(3, 1_000, 'late')
      const provider = await net.provider([])
      const node = await net.node({ network: { peers: [provider.address] } })
      const { record, created } = await node.engine.pins.pin({
        ...{ account: node.account, cid: dag.root.toString(), respondAsync: true },
      })
      expect({ created, status: record.status }).toEqual({ created: true, status: 'queued' })
      await node.reached('failed')
      expect(node.changes).toEqual(['queued>pinning', 'pinning>failed'])
      expect(node.reason()).toMatch(/^CID_NOT_FOUND: no provider has \w+ \(peer \w+ does not have it\)$/)
      const [status] = await node.engine.pins.status({ account: node.account, cid: record.cid })
      expect(status).toMatchObject({ attempts: 1, lastError: node.reason(), blocks: 0 })
      expect(status?.nextAttemptAt).toBeGreaterThan(node.clock.now())

      for (const block of dag.blocks) provider.blocks.put(block)
      node.clock.advance(61_000)
      await node.reached('pinned')
      expect(node.changes.slice(2)).toEqual(['failed>queued', 'queued>pinning', 'pinning>pinned'])
      expect(await node.engine.pins.status({ account: node.account, cid: record.cid })).toMatchObject([
        { blocks: 4, record: { status: 'pinned', size: 3_000 } },
      ])
    }))

  test('leaves providers time to connect during the first attempt', () =>
    withStillNet(async net => {
      const dag = randomFile(3, 1_000, 'on its way')
      const node = await net.node()
      const cid = dag.root.toString()
      await node.engine.pins.pin({ account: node.account, cid, isAnew: true })
      await expect.poll(() => node.changes).toEqual(['queued>pinning'])
      const [address = ''] = await node.engine.addresses()
      const provider = await net.provider(dag.blocks, [address])
      await node.reached('pinned')
      expect(node.changes).toEqual(['queued>pinning', 'pinning>pinned'])
      expect(provider.blocks.total).toBe(dag.blocks.length)
    }))

  test('fails for good after ten attempts with growing pauses', () =>
    withNet(async net => {
      const provider = await net.provider([])
      const node = await net.node({ network: { peers: [provider.address] } })
      await node.engine.pins.pin({ account: node.account, cid: unknownCid, respondAsync: true })
      const pauses: Array<number | null> = []
      for (let attempt = 1; attempt <= 10; attempt++) {
        await expect.poll(() => node.changes.filter(change => change === 'pinning>failed').length).toBe(attempt)
        const [status] = await node.engine.pins.status({ account: node.account, cid: unknownCid })
        expect(status?.attempts).toBe(attempt)
        const next = status?.nextAttemptAt ?? null
        const minutes = next === null ? null : Math.round((next - node.clock.now()) / 60_000)
        pauses.push(minutes)
        node.clock.advance((minutes ?? 0) * 60_000 + 1_000)
      }
      expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60, null])
    }))
})

test('without networking, a CID missing on this node is not found', () =>
  withNet(async net => {
    const node = await net.node({ network: { enabled: false } })
    for (const respondAsync of [false, true]) {
      const request = { account: node.account, cid: unknownCid, respondAsync, origins: [deadPort] }
      await expectNotFound(node.engine.pins.pin(request), 60_000)
    }
    await expectNothingKept(node)
  }))

test('malformed origins are refused, naming them', () =>
  withNet(async net => {
    const node = await net.node({ network: { allowPrivateGateways: false } })
    const many = Array.from({ length: 21 }, (_, number) => `https://example.org/${number}`)
    for (const origins of [['nonsense'], ['/ip4/127.0.0.1/tcp/1'], ['ftp://example.org'], ['http://10.0.0.1'], many]) {
      for (const respondAsync of [false, true]) {
        const request = { account: node.account, cid: unknownCid, origins, respondAsync }
        const message = expect.stringContaining('origins')
        await expect(node.engine.pins.pin(request)).rejects.toMatchObject({ code: 'VALIDATION', message })
      }
    }
    await expectNothingKept(node)
  }))

test('origins that several accounts name do not fail their fetch', () =>
  withNet(async net => {
    const node = await net.node()
    const dag = leaf(Buffer.from('by one of many origins'))
    const provider = await net.provider(dag.blocks)
    const { pins } = node.engine
    const deadOnes = (from: string) => Array.from({ length: 15 }, (_, number) => `http://127.0.0.1:9/${from}/${number}`)
    const waiting = { cid: dag.root.toString(), respondAsync: true }
    await pins.pin({ ...waiting, account: node.account, origins: deadOnes('one') })
    await node.reached('failed')
    expect(node.reason()).toMatch(/^CID_NOT_FOUND/)
    const origins = [provider.address, ...deadOnes('two').slice(1)]
    await pins.pin({ ...waiting, account: await node.newAccount(), origins })
    await expect.poll(() => node.changes.filter(change => /pinning>(pinned|failed)/.test(change)).length).toBe(3)
    expect(node.changes.filter(change => change === 'pinning>pinned')).toHaveLength(2)
  }))
