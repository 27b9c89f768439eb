import type { RequestListener } from 'node:http'
import { describe, expect, test } from 'vitest'
import { pseudoRandom } from '../../support/bytes.ts'
import { readFile } from '../../support/read-back.ts'
import { EMPTY, storeSizes } from '../../support/store-inspection.ts'
import { chain, type Dag, leaf, randomFile } from './support/dags.ts'
import { type Node, quick, withNet, withStillNet } from './support/net.ts'

/** Returns a trustless gateway that serves the blocks of a DAG. */
function serving(dag: Dag): RequestListener {
  const bytes = new Map(dag.blocks.map(block => [`/ipfs/${block.cid}?format=raw`, block.bytes]))
  return (request, response) => {
    const found = bytes.get(request.url ?? '')
    response.writeHead(found === undefined ? 404 : 200).end(found)
  }
}

async function expectContent(node: Node, dag: Dag): Promise<void> {
  const backend = await node.engine.clusters.backendOf()
  expect((await readFile(backend, dag.root.toString())).length).toBe(dag.size)
}

describe('a peer', () => {
  test('that sends wrong bytes fails the pin, and the error names it', () =>
    withNet(async net => {
      const dag = randomFile(3, 1_000, 'wrong root')
      const liar = await net.provider(dag.blocks)
      liar.blocks.before = async () => pseudoRandom(1_000, 'something else')
      const node = await net.node()
      const request = { account: node.account, cid: dag.root.toString(), origins: [liar.address] }
      await expect(node.engine.pins.pin(request)).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
      expect(await storeSizes(node.dataDir)).toEqual(EMPTY)
    }))

  test('that sends wrong bytes below the root fails the pin, storing none', () =>
    withNet(async net => {
      const dag = randomFile(20, 1_000, 'wrong leaf')
      const liar = await net.provider(dag.blocks)
      const [bad] = dag.blocks.slice(7)
      liar.blocks.before = async cid => (bad?.cid.equals(cid) === true ? pseudoRandom(1_000, 'other') : undefined)
      const node = await net.node()
      const cid = dag.root.toString()
      const { record } = await node.engine.pins.pin({ account: node.account, cid, origins: [liar.address] })
      expect(record.status).toBe('failed')
      expect(node.reason()).toContain('sent the bytes of another block')
      expect(await node.engine.verify()).toMatchObject({ damaged: [] })
      expect((await node.engine.pins.usage(node.account)).storedBytes).toBe(0)

      // One honest provider is enough.
      const honest = await net.provider(dag.blocks)
      const origins = [liar.address, honest.address]
      const again = await node.engine.pins.pin({ account: node.account, cid, origins })
      expect(again.record.status).toBe('pinned')
      await expectContent(node, dag)
    }))

  test('that stops answering stalls the pin, which can be retried', () =>
    withStillNet(async net => {
      const dag = randomFile(10, 1_000, 'stalled')
      const mute = await net.provider(dag.blocks)
      mute.blocks.hangAfter(1)
      const node = await net.node()
      const cid = dag.root.toString()
      const pinning = node.engine.pins.pin({ account: node.account, cid, origins: [mute.address] })
      await expect.poll(() => mute.blocks.asked).toBeGreaterThan(1)
      node.clock.advance(quick.stallSeconds * 1_000)
      const { record } = await pinning
      expect(record.status).toBe('failed')
      expect(node.reason()).toMatch(/^ABORTED: no block came for 15 s \(peer \w+ has not answered yet\)$/)
      await mute.blocks.answerAgain()
      node.clock.advance(65_000)
      await node.reached('pinned')
      await expectContent(node, dag)
    }))

  test('that is slow with each block does not fail the pin', () =>
    withNet(async net => {
      const dag = chain(8)
      const slow = await net.provider(dag.blocks)
      const pin = { findTimeoutSeconds: 60, waitSeconds: 3_600, stallSeconds: 30 }
      const node = await net.node({ pin })
      slow.blocks.before = async () => {
        node.clock.advance(20_000)
        return undefined
      }
      const request = { account: node.account, cid: dag.root.toString(), origins: [slow.address] }
      const { record } = await node.engine.pins.pin(request)
      expect(record.status).toBe('pinned')
      expect(node.changes).toEqual(['queued>pinning', 'pinning>pinned'])
    }))

  test('that never answers does not delay others', () =>
    withNet(async net => {
      const dag = randomFile(40, 1_000, 'mute beside')
      const mute = await net.provider(dag.blocks)
      mute.blocks.hangAfter(0)
      const good = await net.provider(dag.blocks)
      const node = await net.node({ network: { peers: [mute.address, good.address] } })
      const { record } = await node.engine.pins.pin({ account: node.account, cid: dag.root.toString() })
      expect(record.status).toBe('pinned')
    }))
})

describe('a gateway', () => {
  test('provides content that no peer has, as configured gateway or origin', () =>
    withNet(async net => {
      const dag = randomFile(50, 10_000, 'by gateway')
      const url = await net.server(serving(dag))
      const configured = await net.node({ network: { gateways: [url] } })
      const { record } = await configured.engine.pins.pin({ account: configured.account, cid: dag.root.toString() })
      expect(record).toMatchObject({ status: 'pinned', size: dag.size })
      const allowed = await net.node({ network: { allowPrivateGateways: true } })
      for (const [origin, seed] of [[url, 'by gateway']] as const) {
        const cid = randomFile(50, 10_000, seed).root.toString()
        const pinned = await allowed.engine.pins.pin({ account: allowed.account, cid, origins: [origin] })
        expect(pinned.record.status).toBe('pinned')
      }
      await expectContent(allowed, dag)
    }))

  test('at a private address is refused as an origin unless allowed', () =>
    withNet(async net => {
      const dag = leaf(Buffer.from('private'))
      const url = await net.server(serving(dag))
      const node = await net.node({ network: { allowPrivateGateways: false } })
      for (const origin of [url, 'http://localhost:1', 'http://[::1]:1', 'http://10.0.0.1', 'http://169.254.169.254']) {
        const pinning = node.engine.pins.pin({ account: node.account, cid: `${dag.root}`, origins: [origin] })
        const message = expect.stringMatching(/^origins: .* private address$/)
        await expect(pinning).rejects.toMatchObject({ code: 'VALIDATION', message })
      }
    }))

  test('that is trusted cannot redirect to a private address', () =>
    withNet(async net => {
      const dag = leaf(Buffer.from('behind the wall'))
      let asked = 0
      const inside = await net.server((request, response) => {
        asked++
        serving(dag)(request, response)
      })
      const outside = await net.server((request, response) => {
        response.writeHead(302, { location: `${inside}${request.url}` }).end()
      })
      const node = await net.node({ network: { gateways: [outside], allowPrivateGateways: false } })
      const pinning = node.engine.pins.pin({ account: node.account, cid: dag.root.toString() })
      await expect(pinning).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
      expect(asked).toBe(0)
    }))

  const bad: Array<[string, RequestListener, string]> = [
    ['has nothing', (_, response) => response.writeHead(404).end('no'), 'does not have it'],
    ['is broken', (_, response) => response.writeHead(500).end('oops'), 'HTTP 500'],
    [
      'never ends',
      (_, response) => {
        const piece = Buffer.alloc(64 * 1024)
        const more = (): void => {
          while (!response.destroyed && response.write(piece)) {}
        }
        response.on('drain', more)
        more()
      },
      'sent more than the largest block',
    ],
    [
      'redirects to itself',
      (request, response) => response.writeHead(301, { location: request.url }).end(),
      'redirects too often',
    ],
    ['sends other bytes', (_, response) => response.end('something else'), 'sent the bytes of another block'],
    [
      'breaks off',
      (_, response) => response.writeHead(200, { 'content-length': '9' }).write('1', () => response.destroy()),
      'could not be reached',
    ],
    ['hangs up', (_, response) => response.destroy(), 'could not be reached'],
  ]

  // Each case waits a few seconds for other providers, so the cases run in parallel.
  test.concurrent.each(bad)('that %s fails the pin, and the error names it', (_, listener, problem) =>
    withNet(async net => {
      const dag = leaf(Buffer.from(`bad gateway ${problem}`))
      const url = await net.server(listener)
      const node = await net.node({ network: { gateways: [url] } })
      const cid = dag.root.toString()
      await expect(node.engine.pins.pin({ account: node.account, cid })).rejects.toMatchObject({
        code: 'CID_NOT_FOUND',
      })
      await node.engine.pins.pin({ account: node.account, cid, respondAsync: true })
      await node.reached('failed')
      expect(node.reason()).toBe(`CID_NOT_FOUND: no provider has ${cid} (gateway ${url} ${problem})`)

      // A second, working provider completes the pin.
      const good = await net.server(serving(dag))
      await node.restart({ network: { gateways: [url, good] } })
      const { record } = await node.engine.pins.pin({ account: node.account, cid })
      expect(record.status).toBe('pinned')
    }),
  )
})
