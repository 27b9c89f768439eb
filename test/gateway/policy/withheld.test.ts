import { CID } from 'multiformats/cid'
import { expect, test } from 'vitest'
import { createEngine, type Engine, openReading } from '../../../src/index.ts'
import type { NetworkNode } from '../../../src/network/network-node.ts'
import { settled } from '../../../src/testing/index.ts'
import { withNodes } from '../../network/support/node.ts'
import { withStillNet } from '../../pins/fetches/support/net.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { rawCid } from '../../support/content-parts.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { newDirectory } from '../../support/new-database.ts'
import { withTempDir } from '../../support/temp-dir.ts'
import { apiRequest, readBody } from '../client.ts'

const MIB = 1024 ** 2
const BIG = pseudoRandom(2 * MIB + 100, 'big')
const SMALL = pseudoRandom(5_000, 'small')
const SHARED = pseudoRandom(7_000, 'shared')

/** A directory tree with a part to take down, and another root that shares blocks with it. */
interface Content {
  bad: string
  sub: string
  big: string
  chunk: string
  small: string
  shared: string
  other: string
}

async function upload(engine: Engine, account: string, files: Record<string, Buffer>): Promise<string> {
  async function* entries() {
    for (const [path, content] of Object.entries(files)) yield { kind: 'file' as const, path, content }
  }
  return (await engine.pins.uploadDirectory(entries(), { account })).record.cid
}

async function uploadAll(engine: Engine, account: string): Promise<Content> {
  const bad = await upload(engine, account, { 'sub/big': BIG, 'sub/small': SMALL, shared: SHARED })
  const other = await upload(engine, account, { shared: SHARED, good: Buffer.from('good') })
  const cidAt = async (path: string) => (await engine.content.stat({ cid: bad, path })).cid
  return {
    ...{ bad, other, sub: await cidAt('sub'), big: await cidAt('sub/big') },
    chunk: String(await rawCid(BIG.subarray(0, MIB))),
    small: String(await rawCid(SMALL)),
    shared: String(await rawCid(SHARED)),
  }
}

/** Returns the status of a path, which must be the same on both ports and on a thread. */
async function statusOf(engine: Engine, target: string, headers: Record<string, string> = {}): Promise<number> {
  const statuses = await statusesOf(engine, target, headers)
  expect(new Set(statuses).size, `${target}: ${statuses}`).toBe(1)
  return statuses[0] ?? 0
}

/** Returns the status of a path on the API's port, the gateway's port and a thread. */
async function statusesOf(engine: Engine, target: string, headers: Record<string, string> = {}): Promise<number[]> {
  const reading = openReading(await engine.shareReading())
  try {
    const statuses: number[] = []
    for (const gateway of [engine.gateway, engine.ownGateway, reading.gateway]) {
      const response = await gateway(apiRequest('GET', `/ipfs/${target}`, headers))
      expect((await readBody(response)).isBroken).toBe(false)
      statuses.push(response.status)
    }
    return statuses
  } finally {
    reading.close()
  }
}

/** Requests each CID in each of its formats. */
async function statusesBelow(engine: Engine, { sub, big, chunk, small }: Content): Promise<number[]> {
  const targets = [
    `${sub}/`,
    `${sub}/small`,
    `${sub}?format=tar`,
    big,
    `${big}?format=car`,
    chunk,
    `${chunk}?format=raw`,
  ]
  const statuses = [await statusOf(engine, big, { range: 'bytes=10-20' })]
  for (const target of [...targets, small]) statuses.push(await statusOf(engine, target))
  return [...new Set(statuses)]
}

async function withContent(run: (engine: Engine, account: string, content: Content) => Promise<void>): Promise<void> {
  await withTempDir(async dataDir => {
    const engine = await createEngine({ dataDir: newDirectory(dataDir) })
    try {
      const { id } = await engine.accounts.create({ email: 'a@example.org', plan: 'unlimited' })
      await run(engine, id, await uploadAll(engine, id))
    } finally {
      await engine.stop()
    }
  })
}

test('CIDs below a taken-down root are refused until it is lifted', async () => {
  await withContent(async (engine, _account, content) => {
    const { bad, other, shared } = content
    expect(await statusesBelow(engine, content)).toEqual([206, 200])
    // No change waits for the threads that have closed.
    const taken = await engine.takedowns.add({ cid: bad, reason: 'x', status: 451 })
    expect(taken.pending).toEqual([])
    expect(await statusesBelow(engine, content)).toEqual([451])
    expect([await statusOf(engine, `${bad}/shared`), await statusOf(engine, shared)]).toEqual([451, 200])
    expect(await statusOf(engine, `${other}/shared`)).toBe(200)
    await engine.takedowns.remove({ cid: bad })
    expect(await statusesBelow(engine, content)).toEqual([206, 200])
  })
})

test('CIDs below a taken-down CID in a live root are refused', async () => {
  await withContent(async (engine, _account, content) => {
    const { bad, sub, big, chunk, small, shared } = content
    await engine.takedowns.add({ cid: sub, reason: 'x' })
    expect(await statusesBelow(engine, content)).toEqual([410])
    expect([await statusOf(engine, `${bad}/`), await statusOf(engine, shared)]).toEqual([200, 200])
    await engine.takedowns.remove({ cid: sub })
    await engine.takedowns.add({ cid: big, reason: 'x', status: 451 })
    expect([await statusOf(engine, chunk), await statusOf(engine, `${chunk}?format=raw`)]).toEqual([451, 451])
    expect([await statusOf(engine, small), await statusOf(engine, `${sub}/small`)]).toEqual([200, 200])
  })
})

test('an upload of taken-down content is refused, except blocks of other roots', async () => {
  await withContent(async (engine, account, content) => {
    const { bad, sub, big, chunk, small } = content
    await engine.takedowns.add({ cid: bad, reason: 'x' })
    await upload(engine, account, { copy: BIG })
    expect([await statusOf(engine, big), await statusOf(engine, chunk), await statusOf(engine, small)]).toEqual([
      200, 200, 410,
    ])
    await engine.pins.remove({ account, cid: bad })
    await engine.collect({ graceSeconds: 0 })
    await engine.takedowns.add({ cid: sub, reason: 'x' })
    expect(await upload(engine, account, { 'sub/big': BIG, 'sub/small': SMALL, shared: SHARED })).toBe(bad)
    expect([await statusOf(engine, `${sub}/`), await statusOf(engine, small)]).toEqual([410, 410])
    await engine.takedowns.remove({ cid: bad })
    await settled(engine)
    expect(await statusOf(engine, small)).toBe(410)
    expect([await statusOf(engine, `${bad}/shared`), await statusOf(engine, `${bad}/sub/small`)]).toEqual([200, 410])
  })
})

test('a takedown of a directory ends open answers from below it', async () => {
  await withContent(async (engine, _account, { bad, big }) => {
    const response = await engine.gateway(apiRequest('GET', `/ipfs/${big}?format=car`))
    const body = (response.body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()
    await body.next()
    await engine.takedowns.add({ cid: bad, reason: 'x' })
    const rest = await readBody({ ...response, body: { [Symbol.asyncIterator]: () => body } })
    expect(rest.isBroken).toBe(true)
  })
})

test('the walk of a large root continues after a restart', async () => {
  await withTempDir(async dataDir => {
    let engine = await createEngine({ dataDir: newDirectory(dataDir) })
    const { id } = await engine.accounts.create({ email: 'a@example.org', plan: 'unlimited' })
    const files = Object.fromEntries(
      Array.from({ length: 3_000 }, (_, i) => [`${i % 30}/${i}`, Buffer.from(`file ${i}`)]),
    )
    const root = await upload(engine, id, files)
    const { cid: directory } = await engine.content.stat({ cid: root, path: '7' })
    const below = String(await rawCid(Buffer.from('file 37')))
    const beside = String(await rawCid(Buffer.from('file 38')))
    const adding = engine.takedowns.add({ cid: directory, reason: 'x' })
    await expect.poll(() => statusOf(engine, below)).not.toBe(200)
    await engine.stop()
    await adding
    engine = await createEngine({ dataDir: newDirectory(dataDir) })
    try {
      // The walk may end between the answers of two gateways.
      for (const status of await statusesOf(engine, below)) expect([410, 503]).toContain(status)
      await expect.poll(() => statusOf(engine, beside)).toBe(200)
      expect(await statusOf(engine, below)).toBe(410)
    } finally {
      await engine.stop()
    }
  })
})

/** Returns whether the only peer of an empty node serves the block. Otherwise the peer answers "don't have". */
async function isServed(to: NetworkNode, cid: string): Promise<boolean> {
  const { signal } = new AbortController()
  const session = await to.open(CID.parse(cid), { origins: [], signal })
  try {
    await session.get(CID.parse(cid), { signal })
    return true
  } catch (error) {
    expect(error).toMatchObject({ code: 'CID_NOT_FOUND' })
    expect(session.providers().map(provider => provider.error)).toEqual(['does not have it'])
    return false
  } finally {
    session.close()
  }
}

test('peers do not get blocks below a taken-down CID', async () => {
  await withStillNet(async net => {
    const { engine, account } = await net.node()
    const { bad, sub, big, chunk, small, shared, other } = await uploadAll(engine, account)
    const all = [bad, sub, big, chunk, small, shared, other]
    const peers = await engine.addresses()
    await withNodes([() => ({ config: { peers }, clock: new ManualClock() })], async peer => {
      const served = () => Promise.all(all.map(cid => isServed(peer, cid)))
      expect(await served()).toEqual([true, true, true, true, true, true, true])
      await engine.takedowns.add({ cid: big, reason: 'x' })
      expect(await served()).toEqual([true, true, false, false, true, true, true])
      await engine.takedowns.add({ cid: bad, reason: 'x' })
      expect(await served()).toEqual([false, false, false, false, false, true, true])
    })
  })
})
