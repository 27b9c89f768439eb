import * as dagPb from '@ipld/dag-pb'
import { UnixFS } from 'ipfs-unixfs'
import { describe, expect, test } from 'vitest'
import { CODEC } from '../../../src/ipld/cid.ts'
import { settled } from '../../../src/testing/index.ts'
import { planOf } from '../../support/plans.ts'
import { EMPTY, storeSizes } from '../../support/store-inspection.ts'
import {
  blockOf,
  bytesIn,
  chain,
  chargeIn,
  type Dag,
  directoryOf,
  fileOf,
  joined,
  leaf,
  randomFile,
} from './support/dags.ts'
import { quick, withStillNet } from './support/net.ts'

const plans = { small: planOf({ maxStorageBytes: 20_000, maxPins: 2 }) }

/** Makes a node with a thousand links to the same child. */
function thousandfold(child: Dag, kind: 'file' | 'directory', mark: string): Dag {
  const names = Array.from({ length: 1_000 }, (_, i) => String(i).padStart(3, '0'))
  if (kind === 'directory') return directoryOf(Object.fromEntries(names.map(name => [`${mark}-${name}`, child])))
  const data = new UnixFS({ type: 'file', blockSizes: names.map(() => BigInt(child.size)) }).marshal()
  const links = names.map(() => ({ Name: mark, Tsize: child.size, Hash: child.root }))
  const node = blockOf(CODEC.dagPb, dagPb.encode({ Data: data, Links: links }))
  return { ...joined(node, [child]), size: child.size * 1_000 }
}

describe('a DAG over the quota', () => {
  test('is refused during the request, and nothing is stored', () =>
    withStillNet(async net => {
      const dag = randomFile(400, 1_000, 'over quota')
      const provider = await net.provider(dag.blocks)
      const node = await net.node({ plans, network: { peers: [provider.address] } })
      const account = await node.newAccount('small')
      const cid = dag.root.toString()
      await expect(node.engine.pins.pin({ account, cid })).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
      expect((await node.engine.pins.list({ account })).total).toBe(0)
      expect(await node.engine.pins.usage(account)).toEqual({ pins: 0, storedBytes: 0, keptBytes: 0 })
      expect(provider.blocks.total).toBeLessThan(dag.blocks.length)
      await settled(node.engine)
      await node.engine.collect({ graceSeconds: 0 })
      expect(await storeSizes(node.dataDir)).toEqual(EMPTY)
    }))

  test('fails after the request, without retry or stored blocks', () =>
    withStillNet(async net => {
      const dag = randomFile(60, 1_000, 'over quota, later')
      const provider = await net.provider(dag.blocks)
      const node = await net.node({ plans, network: { peers: [provider.address] } })
      const account = await node.newAccount('small')
      const cid = dag.root.toString()
      await node.engine.pins.pin({ account, cid, respondAsync: true })
      await node.reached('failed')
      const [status] = await node.engine.pins.status({ account, cid })
      expect(status).toMatchObject({ nextAttemptAt: null, record: { status: 'failed' } })
      expect(status?.reason).toMatch(/^QUOTA_EXCEEDED: /)
      expect(status?.lastError).toMatch(/^QUOTA_EXCEEDED: /)
      await settled(node.engine)
      await node.engine.collect({ graceSeconds: 0 })
      expect(await storeSizes(node.dataDir)).toEqual({ ...EMPTY, records: 1 })
      // Content within the quota is still accepted.
      const fits = randomFile(10, 1_000, 'fits')
      for (const block of fits.blocks) provider.blocks.put(block)
      expect((await node.engine.pins.pin({ account, cid: `${fits.root}` })).record.status).toBe('pinned')
      expect(await node.engine.pins.usage(account)).toEqual({ pins: 2, storedBytes: chargeIn(fits), keptBytes: 0 })
    }))

  test('counts blocks of other unfinished pins', () =>
    withStillNet(async net => {
      const dags = ['one', 'two'].map(seed => randomFile(12, 1_000, seed))
      const [one, two] = dags.map(({ root }) => root.toString())
      const provider = await net.provider(dags.flatMap(({ blocks }) => blocks))
      provider.blocks.remove(dags[0]?.blocks[12]?.cid ?? dags[0]?.root ?? leaf(Buffer.of()).root)
      const node = await net.node({ plans, network: { peers: [provider.address] } })
      const account = await node.newAccount('small')
      const failed = await node.engine.pins.pin({ account, cid: one ?? '' })
      expect(failed.record.status).toBe('failed')
      expect((await node.engine.pins.usage(account)).storedBytes).toBe(0)
      const pin = () => node.engine.pins.pin({ account, cid: two ?? '' })
      await expect(pin()).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
      await node.restart()
      await expect(pin()).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
      await node.engine.pins.remove({ account, cid: one ?? '' })
      expect((await pin()).record.status).toBe('pinned')
    }))

  test('a pin over the limit is refused before any provider is asked', () =>
    withStillNet(async net => {
      const dags = [0, 1, 2].map(i => randomFile(1, 100, `pin ${i}`))
      const provider = await net.provider(dags.flatMap(({ blocks }) => blocks))
      const node = await net.node({ plans, network: { peers: [provider.address] } })
      const account = await node.newAccount('small')
      const [one, two, three] = dags.map(({ root }) => root.toString())
      await node.engine.pins.pin({ account, cid: one ?? '' })
      await node.engine.pins.pin({ account, cid: two ?? '', respondAsync: true })
      for (const respondAsync of [true, false]) {
        const pinning = node.engine.pins.pin({ account, cid: three ?? '', respondAsync })
        await expect(pinning).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
      }
    }))
})

describe('a DAG', () => {
  test('may be as deep as the limit, but not deeper', () =>
    withStillNet(async net => {
      const [fits, deeper] = [chain(30), chain(31)]
      const provider = await net.provider([...fits.blocks, ...deeper.blocks])
      const node = await net.node({ network: { peers: [provider.address] }, pin: { ...quick, maxDepth: 30 } })
      const { account } = node
      expect((await node.engine.pins.pin({ account, cid: `${fits.root}` })).record.status).toBe('pinned')
      const refused = await node.engine.pins.pin({ account, cid: `${deeper.root}` })
      expect(refused.record.status).toBe('failed')
      expect(node.reason()).toContain('VALIDATION: the DAG has more than 30 levels')
      expect((await node.engine.pins.status({ account, cid: `${deeper.root}` }))[0]?.nextAttemptAt).toBe(null)
    }))

  test('may have as many blocks as the limit, but not more', () =>
    withStillNet(async net => {
      const [fits, more] = [randomFile(49, 100, 'fits'), randomFile(50, 100, 'more')]
      const provider = await net.provider([...fits.blocks, ...more.blocks])
      const node = await net.node({ network: { peers: [provider.address] }, pin: { ...quick, maxBlocks: 50 } })
      const { account } = node
      expect((await node.engine.pins.pin({ account, cid: `${fits.root}` })).record.status).toBe('pinned')
      expect((await node.engine.pins.pin({ account, cid: `${more.root}` })).record.status).toBe('failed')
      expect(node.reason()).toContain('more than 50 blocks')
    }))

  test('with a missing leaf fails, naming it, and completes once it exists', () =>
    withStillNet(async net => {
      const dag = randomFile(20, 1_000, 'missing leaf')
      const missing = dag.blocks[9]
      const provider = await net.provider(dag.blocks.filter(block => block !== missing))
      const node = await net.node({ network: { peers: [provider.address] } })
      const cid = dag.root.toString()
      const { record, created } = await node.engine.pins.pin({ account: node.account, cid })
      expect({ created, status: record.status }).toEqual({ created: true, status: 'failed' })
      expect(node.reason()).toContain(`no provider has ${missing?.cid}`)
      expect((await node.engine.pins.usage(node.account)).storedBytes).toBe(0)
      if (missing !== undefined) provider.blocks.put(missing)
      node.clock.advance(65_000)
      await node.reached('pinned')
      expect((await node.engine.pins.usage(node.account)).storedBytes).toBe(chargeIn(dag))
    }))

  test('with a block that does not match its codec fails without retry', () =>
    withStillNet(async net => {
      const broken = joined(blockOf(CODEC.dagPb, Buffer.from('no protobuf, for all I know')), [])
      const dag = fileOf([broken, leaf(Buffer.from('fine'))])
      const provider = await net.provider(dag.blocks)
      const node = await net.node({ network: { peers: [provider.address] } })
      const { record } = await node.engine.pins.pin({ account: node.account, cid: dag.root.toString() })
      expect(record.status).toBe('failed')
      expect(node.reason()).toContain(`INVALID_CID: the block of ${broken.root} is not what its codec says`)
    }))
})

describe('a million links to one block', () => {
  test('count as one block', { timeout: 120_000 }, () =>
    withStillNet(async net => {
      const one = leaf(Buffer.from('one block, a million times'))
      const middles = Array.from({ length: 1_000 }, (_, i) => thousandfold(one, 'file', String(i)))
      const dag = fileOf(middles)
      const provider = await net.provider(dag.blocks)
      const node = await net.node({ network: { peers: [provider.address] } })
      const before = process.memoryUsage().heapUsed
      const { record } = await node.engine.pins.pin({ account: node.account, cid: dag.root.toString() })
      expect(record).toMatchObject({ status: 'pinned', dagSize: bytesIn(dag), size: one.size * 1_000_000 })
      const [status] = await node.engine.pins.status({ account: node.account, cid: record.cid })
      expect(status?.blocks).toBe(1_002)
      expect(process.memoryUsage().heapUsed - before).toBeLessThan(300e6)
    }),
  )

  test('list at most as many paths as the blocks justify', () =>
    withStillNet(async net => {
      const one = leaf(Buffer.from('a file with a trillion names'))
      let dag = one
      for (let level = 0; level < 4; level++) dag = thousandfold(dag, 'directory', `level ${level}`)
      const provider = await net.provider(dag.blocks)
      const node = await net.node({ network: { peers: [provider.address] } })
      const { account } = node
      const { record } = await node.engine.pins.pin({ account, cid: dag.root.toString() })
      expect(record).toMatchObject({ status: 'pinned', dagSize: bytesIn(dag), size: one.size * 1e12 })
      const { total, items } = await node.engine.pins.list({ account, parentCid: record.cid, limit: 2 })
      expect(total).toBeGreaterThan(10_000)
      expect(total).toBeLessThan(12_000)
      expect(items[0]?.path).toBe('level 3-000/level 2-000/level 1-000/level 0-000')
    }))

  test('sizes claimed by blocks cannot exceed the largest safe integer', () =>
    withStillNet(async net => {
      const one = leaf(Buffer.from('tiny'))
      const data = new UnixFS({ type: 'file', blockSizes: [2n ** 53n - 1n] }).marshal()
      const links = [{ Name: '', Tsize: 1, Hash: one.root }]
      const file = joined(blockOf(CODEC.dagPb, dagPb.encode({ Data: data, Links: links })), [one])
      const dag = directoryOf({ a: file, b: file })
      const provider = await net.provider(dag.blocks)
      const node = await net.node({ network: { peers: [provider.address] } })
      for (const root of [dag.root, file.root]) {
        const { record } = await node.engine.pins.pin({ account: node.account, cid: root.toString() })
        expect(record).toMatchObject({ status: 'pinned', size: Number.MAX_SAFE_INTEGER })
      }
    }))
})
