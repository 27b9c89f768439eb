import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { unixfs } from '@helia/unixfs'
import { multiaddr } from '@multiformats/multiaddr'
import type { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import type { FetchSession } from '../../src/network/block-fetcher.ts'
import { emptyMessage, encodeMessage } from '../../src/network/exchange/message.ts'
import { collect, pseudoRandom } from '../support/bytes.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { hostOf, rawBlock, someBlocks } from './support/blocks.ts'
import { withNode, withNodes } from './support/node.ts'
import { withProvider } from './support/provider.ts'

const PROTOCOL = '/ipfs/bitswap/1.2.0'
const never = new AbortController().signal
const unknown = rawBlock(Buffer.from('nobody has this'))
/** The discard port, where no server listens. */
const deadPort = '/ip4/127.0.0.1/tcp/9/p2p/12D3KooWD3bfmNbuuuVCYwkjnFt3ukm3qaB3hDED3peHHXawvRAi'

async function getAll(session: FetchSession, blocks: ReturnType<typeof someBlocks>): Promise<void> {
  const left = blocks.values()
  const lane = async (): Promise<void> => {
    for (const { cid, bytes } of left) expect(Buffer.compare(await session.get(cid, { signal: never }), bytes)).toBe(0)
  }
  await Promise.all(Array.from({ length: 16 }, lane))
}

describe('a node', () => {
  test('keeps its identity across restarts', () =>
    withTempDir(async dir => {
      const first = await withNode(dir, {}, async node => node.peerId)
      const second = await withNode(dir, {}, async node => node.addresses())
      expect(second).toEqual([expect.stringMatching(new RegExp(`^/ip4/127\\.0\\.0\\.1/tcp/\\d+/p2p/${first}$`))])
    }))

  test('has no source without an origin, a peer or a gateway', () =>
    withNodes([() => ({})], async node => {
      expect(node.canAsk([])).toBe(false)
      expect(node.canAsk([deadPort])).toBe(true)
      expect(node.peerCount()).toBe(0)
    }))

  test('names the invalid field of its configuration', () =>
    withTempDir(async dir => {
      const start = (config: object) => withNode(dir, { config }, async () => 'started')
      await expect(start({ peers: ['/ip4/127.0.0.1/tcp/1'] })).rejects.toThrow(/network\.peers\.0: must end in \/p2p\//)
      await expect(start({ listen: ['nonsense'] })).rejects.toThrow('network.listen.0: is not a multiaddr')
      await expect(start({ gateways: ['ftp://x'] })).rejects.toThrow('network.gateways.0: must be an http or https URL')
      await withNode(join(dir, 'other'), {}, async node => {
        const taken = node.addresses()[0]?.replace(/\/p2p\/.*/, '')
        await expect(start({ listen: [taken] })).rejects.toMatchObject({
          code: 'CONFIG_INVALID',
          message: expect.stringContaining('network.listen: cannot listen on'),
        })
      })
    }))

  test('redials a lost configured peer with backoff', () =>
    withTempDir(async dir => {
      const clock = new ManualClock()
      let address = ''
      await withNode(join(dir, 'a'), {}, async a => {
        address = a.addresses()[0] ?? ''
      })
      const config = { peers: [address] }
      const listen = [address.replace(/\/p2p\/.*/, '')]
      await withNode(join(dir, 'b'), { config, clock }, async b => {
        await expect.poll(() => clock.waiting).toBe(1)
        clock.advance(1_000)
        await expect.poll(() => clock.waiting).toBe(1)
        await withNode(join(dir, 'a'), { config: { listen } }, async () => {
          clock.advance(1_999)
          expect(b.peerCount()).toBe(0)
          clock.advance(1)
          await expect.poll(() => b.peerCount()).toBe(1)
        })
        await expect.poll(() => b.peerCount()).toBe(0)
        await withNode(join(dir, 'a'), { config: { listen } }, async () => {
          clock.advance(1_000)
          await expect.poll(() => b.peerCount()).toBe(1)
        })
      })
    }))
})

describe('a session', () => {
  test('fetches from a peer in another process', () =>
    withProvider({ count: 300, size: 20_000 }, ({ address }) =>
      withNodes([() => ({ config: { peers: [address] } })], async node => {
        const blocks = someBlocks(300, 20_000)
        const session = await node.open(blocks[0]?.cid ?? unknown.cid, { origins: [], signal: never })
        await getAll(session, blocks)
        expect(session.providers()).toEqual([{ provider: `peer ${address.split('/').at(-1)}`, error: null }])
        session.close()
      }),
    ))

  test('fetches blocks of many sizes, up to 4 MiB with framing', () =>
    withNodes(
      [
        () => ({
          blocks: hostOf([...someBlocks(2, 4 * 1024 * 1024 - 1024), ...someBlocks(50, 1), ...someBlocks(5, 0)]),
        }),
        ([a]) => ({ config: { peers: a?.addresses() ?? [] } }),
      ],
      async (_, b) => {
        const session = await b.open(unknown.cid, { origins: [], signal: never })
        await getAll(session, [...someBlocks(2, 4 * 1024 * 1024 - 1024), ...someBlocks(50, 1), ...someBlocks(5, 0)])
      },
    ))

  test('fails at once if the only peer lacks the block', () =>
    withProvider({ count: 1, size: 10 }, ({ address }) =>
      withNodes([() => ({})], async node => {
        for (const _ of [1, 2]) {
          const session = await node.open(unknown.cid, { origins: [address], signal: never })
          const fetching = session.get(unknown.cid, { signal: AbortSignal.timeout(60_000) })
          await expect(fetching).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
          expect(session.providers()).toEqual([{ provider: expect.any(String), error: 'does not have it' }])
          session.close()
        }
      }),
    ))

  test('drops a closed port and a peer with another id', () =>
    withNodes([() => ({}), () => ({})], async (a, b) => {
      const wrongId = (a.addresses()[0] ?? '').replace(/[^/]*$/, deadPort.split('/').at(-1) ?? '')
      const session = await b.open(unknown.cid, {
        origins: [deadPort, wrongId.replace('/p2p/', '/p2p/')],
        signal: never,
      })
      const fetching = session.get(unknown.cid, { signal: AbortSignal.timeout(60_000) })
      await expect(fetching).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
      expect(session.providers()[0]?.error).toBe('could not be reached')
    }))

  test('fails if its only provider dies, and continues with another', () =>
    withProvider({ count: 40, size: 1_000, hangsAfter: 10 }, dying =>
      withProvider({ count: 40, size: 1_000 }, living =>
        withNodes([() => ({})], async node => {
          const blocks = someBlocks(40, 1_000)
          const alone = await node.open(unknown.cid, { origins: [dying.address], signal: never })
          const both = await node.open(unknown.cid, { origins: [dying.address, living.address], signal: never })
          const signal = AbortSignal.timeout(60_000)
          for (const { cid } of blocks.slice(0, 10)) await alone.get(cid, { signal })
          const outcomes = Promise.allSettled(blocks.slice(10).map(({ cid }) => alone.get(cid, { signal })))
          await dying.kill()
          const failed = (await outcomes).filter(outcome => outcome.status === 'rejected')
          expect(failed.length).toBe(30)
          for (const { reason } of failed) expect(reason).toMatchObject({ code: 'CID_NOT_FOUND' })
          expect(alone.providers()[0]?.error).toBe('could not be reached')
          await getAll(both, blocks)
        }),
      ),
    ))

  test('asks the next provider if one never answers', () =>
    withProvider({ count: 3, size: 1_000, hangsAfter: 0 }, silent =>
      withProvider({ count: 3, size: 1_000 }, living =>
        withNodes([() => ({ config: { peers: [living.address] } })], async node => {
          const session = await node.open(unknown.cid, { origins: [silent.address], signal: never })
          await getAll(session, someBlocks(3, 1_000))
          expect(session.providers()).toContainEqual({
            provider: `peer ${silent.address.split('/').at(-1)}`,
            error: 'has not answered yet',
          })
        }),
      ),
    ))

  test('drops a peer that sends wrong bytes and asks the next', () => {
    const [good] = someBlocks(1, 5_000)
    const block = good ?? unknown
    const liar = { has: () => true, get: async () => Buffer.from('something else') }
    return withNodes(
      [() => ({ blocks: liar }), () => ({ blocks: hostOf([block]) }), () => ({})],
      async (bad, honest, node) => {
        const alone = await node.open(block.cid, { origins: bad.addresses(), signal: never })
        await expect(alone.get(block.cid, { signal: never })).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
        expect(alone.providers()).toEqual([
          { provider: `peer ${bad.peerId}`, error: 'sent the bytes of another block' },
        ])
        const both = await node.open(block.cid, { origins: [...bad.addresses(), ...honest.addresses()], signal: never })
        expect(Buffer.from(await both.get(block.cid, { signal: never }))).toEqual(block.bytes)
      },
    )
  })

  test('ends on abort of a get, on close, and on stop', () =>
    withProvider({ count: 1, size: 10, hangsAfter: 0 }, ({ address }) =>
      withNodes([() => ({})], async node => {
        const [block = unknown] = someBlocks(1, 10)
        const session = await node.open(block.cid, { origins: [address], signal: never })
        const abort = new AbortController()
        const aborted = session.get(block.cid, { signal: abort.signal })
        const closed = session.get(block.cid, { signal: never })
        abort.abort(new Error('no longer wanted'))
        await expect(aborted).rejects.toThrow('no longer wanted')
        session.close()
        await expect(closed).rejects.toMatchObject({ code: 'ABORTED' })
        await expect(session.get(block.cid, { signal: never })).rejects.toMatchObject({ code: 'ABORTED' })
        const other = await node.open(block.cid, { origins: [address], signal: never })
        const stopped = other.get(block.cid, { signal: never })
        const expectation = expect(stopped).rejects.toMatchObject({ code: 'ABORTED' })
        await node.stop()
        await expectation
      }),
    ))

  test('refuses malformed origins and names them', () =>
    withNodes([() => ({})], async node => {
      const open = (origin: string) => node.open(unknown.cid, { origins: [origin], signal: never })
      for (const origin of ['nonsense', '', '/ip4/1.2.3.4/tcp/1', 'ftp://example.org', 'https://u:p@example.org']) {
        await expect(open(origin)).rejects.toMatchObject({
          code: 'VALIDATION',
          message: expect.stringContaining('origins'),
        })
      }
    }))
})

describe('a serving node', () => {
  test('serves the given blocks and no others', () => {
    const [live = unknown, staged = unknown] = someBlocks(2, 100)
    return withNodes(
      [() => ({ blocks: hostOf([live]) }), ([a]) => ({ config: { peers: a?.addresses() ?? [] } })],
      async (a, b) => {
        const own = await unixfs(a.helia).addBytes(pseudoRandom(100, 'own'), { rawLeaves: true })
        await a.helia.blockstore.put(staged.cid, staged.bytes)
        const session = await b.open(live.cid, { origins: [], signal: never })
        expect(Buffer.from(await session.get(live.cid, { signal: never }))).toEqual(live.bytes)
        for (const cid of [staged.cid, own]) {
          await expect(session.get(cid, { signal: never })).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
        }
      },
    )
  })
})

describe('a peer that requests many blocks and reads none', () => {
  test('costs a few blocks of memory and does not slow others', () => {
    const blocks = someBlocks(80, 500_000)
    let reads = 0
    const host = hostOf(blocks)
    const counted = {
      has: host.has,
      get: (cid: CID) => {
        reads++
        return host.get(cid)
      },
    }
    return withNodes([() => ({ blocks: counted }), () => ({}), () => ({})], async (server, greedy, modest) => {
      const { libp2p } = greedy.helia
      await libp2p.unhandle(PROTOCOL)
      let taken = 0
      await libp2p.handle(PROTOCOL, stream => {
        stream.addEventListener('message', ({ data }) => {
          taken += data.byteLength
          if (taken > 3_000_000) stream.pause()
        })
      })
      const stream = await libp2p.dialProtocol(multiaddr(server.addresses()[0] ?? ''), PROTOCOL)
      const wants = blocks.map(({ cid }) => ({ cid: cid.bytes, cancel: false, presence: false, sendDontHave: true }))
      for (const piece of encodeMessage({ ...emptyMessage(), wants })) stream.send(piece)
      await expect.poll(() => taken).toBeGreaterThan(3_000_000)
      const session = await modest.open(unknown.cid, { origins: server.addresses(), signal: never })
      await getAll(session, blocks)
      expect(reads - blocks.length).toBeLessThan(40)
    })
  })
})

describe('Helia on the node', () => {
  test('adds, reads, fetches and deletes blocks, but no pinned ones', () => {
    const [live = unknown, remote = unknown] = someBlocks(2, 100_000)
    return withNodes(
      [
        () => ({ blocks: hostOf([remote]) }),
        ([a]) => ({ blocks: hostOf([live]), config: { peers: a?.addresses() ?? [] } }),
      ],
      async (_, { helia, ...node }) => {
        const fs = unixfs(helia)
        const content = pseudoRandom(3_000_000, 'helia')
        const cid = await fs.addBytes(content)
        expect(await collect(fs.cat(cid))).toEqual(content)
        expect(await collect(fs.cat(live.cid))).toEqual(live.bytes)
        expect(await collect(fs.cat(remote.cid))).toEqual(remote.bytes)
        await expect(collect(fs.cat(unknown.cid))).rejects.toThrow()

        await expect(helia.blockstore.delete(live.cid)).rejects.toThrow('a pin needs block')
        await helia.gc()
        expect(await helia.blockstore.has(live.cid)).toBe(true)
        expect(await helia.blockstore.has(cid)).toBe(false)

        const again = await fs.addBytes(content)
        expect(node.canAsk([])).toBe(true)
        const session = await node.open(again, { origins: [], signal: never })
        expect((await session.get(again, { signal: never })).length).toBeGreaterThan(0)
        await helia.blockstore.delete(again)
        expect(await helia.blockstore.has(again)).toBe(false)
      },
    )
  })
})

describe('a process', () => {
  test('exits by itself after the node stops', () =>
    withProvider({ count: 1, size: 10 }, async provider => {
      await withNodes([() => ({ config: { peers: [provider.address] } })], async node => {
        const [block = unknown] = someBlocks(1, 10)
        const session = await node.open(block.cid, { origins: [], signal: never })
        await session.get(block.cid, { signal: never })
        const exited = once(provider.process, 'exit')
        provider.process.stdin?.end()
        expect(await exited).toEqual([0, null])
      })
    }))

  test('loads no network package with the network off', async () => {
    const source = `
      import { registerHooks } from 'node:module'
      const loaded = []
      registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
      await import('./src/index.ts')
      process.stdout.write(JSON.stringify(loaded))
    `
    const cwd = join(import.meta.dirname, '../..')
    const args = ['--input-type=module', '--eval', source]
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd, maxBuffer: 2 ** 24 })
    const loaded = JSON.parse(stdout) as string[]
    expect(loaded.length).toBeGreaterThan(50)
    // UnixFS shares small type packages with the network.
    const parts =
      /node_modules\/(helia|libp2p|undici|@helia\/(?!unixfs)[^/]+|@libp2p\/(?!interface|logger|utils)[^/]+)\//
    expect(loaded.filter(url => parts.test(url))).toEqual([])
  })
})
