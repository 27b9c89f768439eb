import { describe, expect, test } from 'vitest'
import { hostOf, rawBlock, someBlocks } from './support/blocks.ts'
import { withNodes } from './support/node.ts'

describe('a DHT of three nodes', () => {
  test('leads from a root to the node that announced it', () => {
    const [block = rawBlock(Buffer.of())] = someBlocks(1, 1_000)
    return withNodes(
      [
        () => ({ config: { dht: 'server' } }),
        ([router]) => ({ config: { dht: 'server', peers: router?.addresses() ?? [] }, blocks: hostOf([block]) }),
        ([router]) => ({ config: { dht: 'client', peers: router?.addresses() ?? [] } }),
      ],
      async (router, provider, node) => {
        await expect.poll(() => router.peerCount()).toBe(2)
        const signal = AbortSignal.timeout(60_000)
        await expect.poll(() => provider.announce(block.cid, signal).catch((error: unknown) => error)).toBe(true)
        const session = await node.open(block.cid, { origins: [], signal })
        expect(Buffer.from(await session.get(block.cid, { signal }))).toEqual(block.bytes)
        expect(session.providers()).toContainEqual({ provider: `peer ${provider.peerId}`, error: null })
        await provider.withdraw(block.cid, signal)
      },
    )
  })

  test('is off unless configured, so a node announces nothing', () =>
    withNodes([() => ({})], async node => {
      const { cid } = rawBlock(Buffer.from('x'))
      expect(await node.announce(cid, new AbortController().signal)).toBe(false)
    }))
})
