import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { collect, pseudoRandom } from '../../support/bytes.ts'
import { readFile } from '../../support/read-back.ts'
import { ServerProcess } from '../../support/server-process.ts'
import { withDatabase } from '../../support/store-inspection.ts'
import { leaves, randomFile } from './support/dags.ts'
import { type Node, quick, withNet } from './support/net.ts'
import { withFileProvider } from './support/provider-process.ts'

afterAll(() => ServerProcess.killAll())

/** The fetch requests 32 blocks at a time, in one message. */
const FILE = { count: 100, size: 30_000 }
/** The root, two messages, and part of a message that is never sent. */
const SOME = 81

async function content(node: Node, cid: string): Promise<Buffer> {
  const backend = await node.engine.clusters.backendOf()
  return readFile(backend, cid)
}

function expected(seed: string): Promise<Buffer> {
  return collect(leaves(FILE.count, FILE.size, seed).flatMap(({ blocks }) => blocks.map(({ bytes }) => bytes)))
}

/** Returns the number of complete blocks on disk. */
function durableBlocks(dataDir: string): number {
  return withDatabase(dataDir, db => {
    const count = db.prepare<[], { count: number }>("SELECT COUNT(*) AS count FROM blocks WHERE state = 'durable'")
    return count.get()?.count ?? 0
  })
}

describe('a provider that is killed during a fetch', () => {
  test('fails the pin with a reason; another provider supplies the rest', () => {
    const dag = randomFile(FILE.count, FILE.size, 'killed')
    const cid = dag.root.toString()
    return withFileProvider({ ...FILE, seed: 'killed', most: SOME }, dying =>
      withNet(async net => {
        const node = await net.node({ pin: { ...quick, waitSeconds: 0.01, stallSeconds: 60 } })
        const { record } = await node.engine.pins.pin({ account: node.account, cid, origins: [dying.address] })
        expect(['queued', 'pinning']).toContain(record.status)
        const progress = async () => (await node.engine.pins.status({ account: node.account, cid }))[0]
        await expect.poll(async () => (await progress())?.blocks).toBeGreaterThan(40)
        await dying.kill()
        await node.reached('failed')
        expect(node.changes).toEqual(['queued>pinning', 'pinning>failed'])
        expect(node.reason()).toContain('CID_NOT_FOUND')
        expect(node.reason()).toContain(`peer ${dying.address.split('/').at(-1)} `)
        const kept = durableBlocks(node.dataDir)
        expect(kept).toBeGreaterThan(40)
        expect(await progress()).toMatchObject({ blocks: kept, attempts: 1 })
        expect((await progress())?.bytes).toBeGreaterThan((kept - 1) * FILE.size)

        const living = await net.provider(dag.blocks)
        const again = await node.engine.pins.pin({ account: node.account, cid, origins: [living.address] })
        expect(again).toMatchObject({ created: false, record: { uploadId: record.uploadId } })
        await node.reached('pinned')
        expect(node.changes.slice(2)).toEqual(['failed>queued', 'queued>pinning', 'pinning>pinned'])
        // Stored blocks are not requested again, except the root, which is used to find a provider.
        expect(living.blocks.total).toBe(dag.blocks.length - kept + 1)
        expect(await content(node, cid)).toEqual(await expected('killed'))
      }),
    )
  })

  test('supplies the rest at the next attempt after it returns', () =>
    withNet(async net => {
      const dag = randomFile(FILE.count, FILE.size, 'back again')
      const cid = dag.root.toString()
      const provider = await net.provider(dag.blocks)
      provider.blocks.hangAfter(SOME)
      const node = await net.node({
        network: { peers: [provider.address] },
        pin: { ...quick, waitSeconds: 0.01, stallSeconds: 60 },
      })
      await node.engine.pins.pin({ account: node.account, cid })
      await expect.poll(() => durableBlocks(node.dataDir)).toBeGreaterThan(40)
      await provider.stop()
      await node.reached('failed')
      expect(node.reason()).toContain('CID_NOT_FOUND')
      const kept = durableBlocks(node.dataDir)

      await provider.blocks.answerAgain()
      const given = provider.blocks.total
      await provider.startAgain()
      node.clock.advance(65_000)
      await node.reached('pinned')
      expect(provider.blocks.total - given).toBe(dag.blocks.length - kept)
      expect((await node.engine.pins.status({ account: node.account, cid }))[0]).toMatchObject({
        blocks: 101,
        lastError: null,
      })
      expect(await content(node, cid)).toEqual(await expected('back again'))
    }))
})

describe('an engine that is stopped while pinning', () => {
  test('resumes after a restart, and keeps its blocks', () =>
    withNet(async net => {
      const dag = randomFile(FILE.count, FILE.size, 'restarted')
      const cid = dag.root.toString()
      const provider = await net.provider(dag.blocks)
      provider.blocks.hangAfter(SOME)
      const node = await net.node({
        network: { peers: [provider.address] },
        pin: { ...quick, waitSeconds: 0.01, stallSeconds: 60 },
      })
      await node.engine.pins.pin({ account: node.account, cid })
      await expect.poll(() => durableBlocks(node.dataDir)).toBeGreaterThan(40)
      expect(node.changes).toEqual(['queued>pinning'])
      await node.engine.stop()
      const kept = durableBlocks(node.dataDir)
      await provider.blocks.answerAgain()
      const given = provider.blocks.total
      await node.restart()
      await node.reached('pinned')
      expect(node.changes.slice(-2)).toEqual(['queued>pinning', 'pinning>pinned'])
      expect(provider.blocks.total - given).toBe(dag.blocks.length - kept)
    }))

  test('pauses fetches while networking is off, and resumes them', () =>
    withNet(async net => {
      const dag = randomFile(5, 1_000, 'off and on')
      const cid = dag.root.toString()
      const provider = await net.provider([])
      const node = await net.node({ network: { peers: [provider.address] } })
      await node.engine.pins.pin({ account: node.account, cid, respondAsync: true })
      await node.reached('failed')
      await node.restart({ network: { enabled: false } })
      node.clock.advance(120_000)
      expect((await node.engine.pins.status({ account: node.account, cid }))[0]).toMatchObject({
        ...{ attempts: 1, record: { status: 'failed' } },
      })
      for (const block of dag.blocks) provider.blocks.put(block)
      await node.restart({ network: { enabled: true, peers: [provider.address] } })
      await node.reached('pinned')
    }))
})

describe('a server that is killed while pinning', () => {
  test('resumes after a restart, and keeps the number of attempts', () => {
    const dag = randomFile(FILE.count, FILE.size, 'server killed')
    const cid = dag.root.toString()
    const dir = mkdtempSync(join(tmpdir(), 'holdfast-test-killed-'))
    const dataDir = join(dir, 'data')
    const key = pseudoRandom(24, 'server key').toString('hex')
    const config = join(dir, 'config.json')
    const start = (peers: string[]): Promise<ServerProcess> => {
      const pin = { waitSeconds: 0.01, stallSeconds: 60 }
      writeFileSync(config, JSON.stringify({ pin, network: { peers } }))
      return ServerProcess.start(dataDir, ['--config', config], { HOLDFAST_BOOTSTRAP_KEY: key })
    }
    const ask = async (server: ServerProcess, method: string, path: string) => {
      const answer = await fetch(`${server.api}${path}`, { method, headers: { authorization: `Bearer ${key}` } })
      return (await answer.json()) as Record<string, unknown>
    }
    return withFileProvider({ ...FILE, seed: 'server killed', most: SOME }, stuck =>
      withNet(async net => {
        const first = await start([stuck.address])
        expect(await ask(first, 'POST', `/files/pin/${cid}`)).toMatchObject({ pinned: false })
        const started = () => ask(first, 'GET', `/status/${cid}`)
        await expect.poll(started).toMatchObject({ attempts: 1, status: 'pinning' })
        await expect.poll(() => durableBlocks(dataDir)).toBeGreaterThan(40)
        first.signal('SIGKILL')
        await first.ended()
        const kept = durableBlocks(dataDir)

        const provider = await net.provider(dag.blocks)
        provider.blocks.hangAfter(1)
        const second = await start([provider.address])
        const status = () => ask(second, 'GET', `/status/${cid}`)
        await expect.poll(status).toMatchObject({ attempts: 2, status: 'pinning' })
        await provider.blocks.answerAgain()
        await second.stop()
        const third = await start([provider.address])
        const end = async () => (await ask(third, 'GET', `/status/${cid}`)).status
        await expect.poll(end).toBe('pinned')
        expect(await ask(third, 'GET', `/status/${cid}`)).toMatchObject({ blocks: 101, reason: null })
        // No block stored before the crash is transferred again.
        expect(provider.blocks.total).toBeGreaterThanOrEqual(dag.blocks.length - kept)
        const untouched = dag.blocks.filter(block => provider.blocks.count(block.cid) === 0)
        expect(untouched.length).toBe(kept)
        const read = await fetch(`${third.url}/ipfs/${cid}`)
        expect(Buffer.from(await read.arrayBuffer())).toEqual(await expected('server killed'))
        expect(await third.stop()).toBe(0)
      }),
    ).finally(() => rmSync(dir, { recursive: true, force: true }))
  })
})
