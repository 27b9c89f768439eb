import { describe, expect, test } from 'vitest'
import { chargeIn, randomFile } from './support/dags.ts'
import { quick, withNet } from './support/net.ts'

const PINS = 200
const DEAD_EVERY = 10

describe('two hundred concurrent pins, twenty of them without provider', () => {
  test('finish as fast as without the twenty', () =>
    withNet(async net => {
      const dags = Array.from({ length: PINS }, (_, i) => randomFile(4, 50_000, `crowd ${i}`))
      const isDead = (i: number): boolean => i % DEAD_EVERY === 0
      const provider = await net.provider(dags.flatMap(({ blocks }, i) => (isDead(i) ? [] : blocks)))
      // Twenty DAGs have no provider for the blocks below their root.
      const mute = await net.provider(dags.flatMap(({ blocks }, i) => (isDead(i) ? blocks : [])))
      const roots = new Set(dags.map(({ root }) => root.toString()))
      mute.blocks.before = cid => (roots.has(cid.toString()) ? undefined : new Promise(() => undefined))
      const node = await net.node({ pin: { findTimeoutSeconds: 3_600, waitSeconds: 3_600, stallSeconds: 3_600 } })
      const accounts = [node.account, await node.newAccount(), await node.newAccount()]
      const outcomes = dags.map((dag, i) => {
        const origins = [isDead(i) ? mute.address : provider.address]
        const request = { account: accounts[i % 3] ?? '', cid: dag.root.toString(), origins }
        return node.engine.pins.pin({ ...request, respondAsync: true })
      })
      await Promise.all(outcomes)
      const before = process.memoryUsage()
      let most = 0
      const pinned = (): number => {
        const { heapUsed, arrayBuffers } = process.memoryUsage()
        most = Math.max(most, heapUsed + arrayBuffers - before.heapUsed - before.arrayBuffers)
        return node.changes.filter(change => change === 'pinning>pinned').length
      }
      await expect.poll(pinned).toBe(PINS - PINS / DEAD_EVERY)
      expect(node.changes).not.toContain('pinning>failed')
      const usages = await Promise.all(accounts.map(account => node.engine.pins.usage(account)))
      const bytes = usages.reduce((sum, { storedBytes }) => sum + storedBytes, 0)
      expect(bytes).toBe(dags.reduce((sum, dag, i) => sum + (isDead(i) ? 0 : chargeIn(dag)), 0))
      expect(most).toBeLessThan(150e6)
    }))

  test('requests for a missing root do not delay others', () =>
    withNet(async net => {
      const dags = Array.from({ length: PINS }, (_, i) => randomFile(2, 1_000, `waiting ${i}`))
      const isDead = (i: number): boolean => i % DEAD_EVERY === 0
      const provider = await net.provider(dags.flatMap(({ blocks }, i) => (isDead(i) ? [] : blocks)))
      const mute = await net.provider(dags.flatMap(({ blocks }, i) => (isDead(i) ? blocks : [])))
      mute.blocks.hangAfter(0)
      const node = await net.node({ pin: { findTimeoutSeconds: 3_600, waitSeconds: 3_600, stallSeconds: 3_600 } })
      const pin = (i: number, origin: string, signal?: AbortSignal) =>
        node.engine.pins.pin({ account: node.account, cid: `${dags[i]?.root}`, origins: [origin], signal })
      const abort = new AbortController()
      const dead = dags.flatMap((_, i) => (isDead(i) ? [pin(i, mute.address, abort.signal)] : []))
      const living = dags.flatMap((_, i) => (isDead(i) ? [] : [pin(i, provider.address)]))
      for (const { record } of await Promise.all(living)) expect(record.status).toBe('pinned')
      abort.abort(new Error('enough'))
      for (const outcome of await Promise.allSettled(dead)) expect(outcome.status).toBe('rejected')
      expect((await node.engine.pins.usage(node.account)).pins).toBe(PINS - PINS / DEAD_EVERY)
    }))

  test('pins without provider free their slots, even when they fill all', () =>
    withNet(async net => {
      const dead = Array.from({ length: 80 }, (_, i) => randomFile(1, 100, `dead ${i}`))
      const alive = randomFile(10, 1_000, 'alive')
      const provider = await net.provider(alive.blocks)
      const mute = await net.provider(dead.flatMap(({ blocks }) => blocks))
      mute.blocks.hangAfter(0)
      const node = await net.node({ pin: { ...quick, waitSeconds: 3_600, stallSeconds: 3_600 } })
      const { account } = node
      for (const { root } of dead) {
        await node.engine.pins.pin({ account, cid: `${root}`, origins: [mute.address], respondAsync: true })
      }
      await expect.poll(() => node.changes.length).toBe(64)
      const pinning = node.engine.pins.pin({ account, cid: `${alive.root}`, origins: [provider.address] })
      await expect.poll(async () => (await node.engine.pins.usage(account)).pins).toBe(81)
      expect((await node.engine.pins.status({ account, cid: `${alive.root}` }))[0]?.record.status).toBe('queued')
      node.clock.advance(30_000)
      expect((await pinning).record.status).toBe('pinned')
    }))
})
