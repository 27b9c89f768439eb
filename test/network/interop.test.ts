import { withBitswap } from '@helia/bitswap'
import { type HeliaWithLibp2p, withLibp2pLight } from '@helia/libp2p'
import { unixfs } from '@helia/unixfs'
import { identify } from '@libp2p/identify'
import type { ServiceMap } from '@libp2p/interface'
import { noise } from '@libp2p/noise'
import { tcp } from '@libp2p/tcp'
import { yamux } from '@libp2p/yamux'
import { multiaddr } from '@multiformats/multiaddr'
import { createHeliaLight } from 'helia'
import type { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import { linksOf } from '../../src/content/dag/links.ts'
import type { FetchSession } from '../../src/network/block-fetcher.ts'
import { collect, pseudoRandom } from '../support/bytes.ts'
import { hostOf, rawBlock, someBlocks } from './support/blocks.ts'
import { withNodes } from './support/node.ts'

const never = new AbortController().signal

/** Plain Helia with its own Bitswap and an in-memory store. */
async function withHelia<T>(use: (helia: HeliaWithLibp2p<ServiceMap>) => Promise<T>): Promise<T> {
  const helia = withBitswap(
    withLibp2pLight(createHeliaLight(), {
      addresses: { listen: ['/ip4/127.0.0.1/tcp/0'] },
      transports: [tcp()],
      connectionEncrypters: [noise()],
      streamMuxers: [yamux()],
      services: { identify: identify() },
    }),
  )
  await helia.start()
  try {
    return await use(helia)
  } finally {
    await helia.stop()
  }
}

async function walk(session: FetchSession, cid: CID): Promise<number> {
  const bytes = await session.get(cid, { signal: AbortSignal.timeout(60_000) })
  const below = await Promise.all(Array.from(linksOf(cid, bytes), link => walk(session, link)))
  return below.reduce((sum, count) => sum + count, 1)
}

describe('plain Helia', () => {
  test('serves a DAG and repeatedly reports a missing block', () =>
    withHelia(helia =>
      withNodes([() => ({})], async node => {
        const content = pseudoRandom(8 * 1024 * 1024, 'interop')
        const cid = await unixfs(helia).addBytes(content)
        const origins = helia.libp2p.getMultiaddrs().map(String)
        const session = await node.open(cid, { origins, signal: never })
        expect(await walk(session, cid)).toBe(9)
        // It sends the same block again, because it received our cancel.
        expect(await walk(session, cid)).toBe(9)
        const unknown = rawBlock(Buffer.from('nobody has this')).cid
        for (const _ of [1, 2, 3]) {
          const asked = session.get(unknown, { signal: AbortSignal.timeout(60_000) })
          await expect(asked).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
        }
      }),
    ))

  test('fetches our blocks, many at once and in its sessions', () => {
    const blocks = someBlocks(200, 30_000)
    return withNodes([() => ({ blocks: hostOf(blocks) })], node =>
      withHelia(async helia => {
        const address = multiaddr(node.addresses()[0] ?? '')
        await helia.libp2p.dial(address)
        const signal = AbortSignal.timeout(60_000)
        const got = await Promise.all(blocks.map(({ cid }) => collect(helia.blockstore.get(cid, { signal }))))
        expect(got.every((bytes, i) => blocks[i]?.bytes.equals(bytes))).toBe(true)
        const unknown = rawBlock(Buffer.from('nobody has this')).cid
        const session = helia.blockstore.createSession(unknown, { providers: [address], maxProviders: 1 })
        await expect(collect(session.get(unknown, { signal }))).rejects.toThrow()
        expect(signal.aborted).toBe(false)
        session.close()
      }),
    )
  })
})
