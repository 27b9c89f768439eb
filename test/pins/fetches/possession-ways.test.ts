import { createServer } from 'node:http'
import { describe, expect, test } from 'vitest'
import { toFetch } from '../../../adapters/fetch/index.ts'
import type { Engine } from '../../../src/index.ts'
import { MemoryCluster } from '../../clusters/memory-cluster.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { fetchedBlocks, giveRoots, owners } from '../../support/owned-roots.ts'
import { viaGateway } from '../../support/read-back.ts'
import { withDatabase } from '../../support/store-inspection.ts'
import { withEngine } from '../../support/test-engine.ts'
import { directoryOf, fileOf, leaves } from './support/dags.ts'
import { type Node, quick, withNet, withStillNet } from './support/net.ts'

const OWNER = 4_711
const secretParts = leaves(4, 30_000, 'a secret of four parts')
const secret = fileOf(secretParts)
const bait = directoryOf({ bait: secret })
const [folder] = bait.blocks
const SECRET_BYTES = pseudoRandom(2_500_000, 'the secret file of a folder')

/** Stores the secret for an account, whose origin then ends. */
async function keep(node: Node, origin: { address: string; stop(): Promise<void> }): Promise<void> {
  await node.engine.pins.pin({ account: node.account, cid: secret.root.toString(), origins: [origin.address] })
  await origin.stop()
  giveRoots(node.dataDir, secret.root.toString(), OWNER)
}

async function client(engine: Engine, account: string) {
  const { secret: key } = await engine.keys.create(account, { name: 'k', scopes: ['files:read', 'files:write'] })
  const fetchOf = toFetch(engine)
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  return (path: string, body: object): Promise<Response> =>
    fetchOf(new Request(`http://node${path}`, { method: 'POST', headers, body: JSON.stringify(body) }))
}

describe('a pin of the pinning service API', () => {
  test('waits for the secret of another account as for an unknown CID', () =>
    withNet(async net => {
      const node = await net.node()
      await keep(node, await net.provider(secret.blocks))
      if (folder === undefined) throw new Error('the bait has no block')
      const attacker = await net.provider([folder])
      const other = await node.newAccount()
      const call = await client(node.engine, other)
      const origins = [attacker.address]
      for (const cid of [secret.root, secretParts[0]?.root, bait.root]) {
        const made = await call('/psa/pins', { cid: String(cid), origins })
        expect([made.status, ((await made.json()) as { status: string }).status]).toEqual([202, 'queued'])
      }
      await expect.poll(() => node.changes.filter(change => change === 'pinning>failed').length).toBe(3)
      // The folder of the bait is the only block that somebody sent.
      expect(fetchedBlocks(node.dataDir, other)).toBe(1)
      expect(owners(node.dataDir)).toEqual([OWNER])
    }))
})

describe('an upload by URL', () => {
  test('reads no secret of another account through the gateway of the node', () =>
    withEngine(
      async node => {
        const { engine, dataDir, account } = node
        const { record } = await engine.pins.upload(SECRET_BYTES, { account })
        giveRoots(dataDir, record.cid, OWNER)
        const server = createServer(async (request, response) => {
          const { status, bytes } = await viaGateway(engine, request.url ?? '')
          response.writeHead(status).end(bytes)
        })
        await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
        try {
          const address = server.address()
          const port = typeof address === 'object' && address !== null ? address.port : 0
          const call = await client(engine, await node.newAccount())
          const url = `http://127.0.0.1:${port}/ipfs/${record.cid}`
          const answer = await call('/api/v3/files/url', { url })
          expect(answer.status).toBe(400)
          expect(owners(dataDir)).toEqual([OWNER])
        } finally {
          server.closeAllConnections()
          server.close()
        }
      },
      { uploads: { fromUrls: 'any' } }, // feature: url-uploads
    ))
})

describe('a folder with a file that another account keeps', () => {
  test('keeps all blocks that it sent when the other account removes its', () =>
    withEngine(async node => {
      const { engine, dataDir, account } = node
      const { record } = await engine.pins.upload(SECRET_BYTES, { account })
      giveRoots(dataDir, record.cid, OWNER)
      const other = await node.newAccount()
      const entries = [
        { kind: 'file', path: 'secret.bin', content: SECRET_BYTES },
        { kind: 'file', path: 'beside.txt', content: 'beside' },
      ] as const
      const sent = await engine.pins.uploadDirectory(entries, { account: other })
      await engine.pins.remove({ account, cid: record.cid })
      await engine.collect({ graceSeconds: 0 })
      expect(owners(dataDir)).toEqual([0])
      const { bytes } = await viaGateway(engine, `/ipfs/${sent.record.cid}/secret.bin`)
      expect(Buffer.compare(bytes, SECRET_BYTES)).toBe(0)
    }))
})

describe('a fetch that is resumed', () => {
  test('keeps the blocks that it got, and adopts none of another account', () =>
    withStillNet(async net => {
      const node = await net.node({ pin: { ...quick, waitSeconds: 0.01, stallSeconds: 60 } })
      await keep(node, await net.provider(secret.blocks))
      if (folder === undefined) throw new Error('the bait has no block')
      const [root] = secret.blocks.filter(({ cid }) => cid.equals(secret.root))
      if (root === undefined) throw new Error('the secret has no root')
      const sent = [folder, root, ...(secretParts[0]?.blocks ?? [])]
      const attacker = await net.provider(sent)
      const other = await node.newAccount()
      const wanted = { account: other, cid: bait.root.toString() }
      await node.engine.pins.pin({ ...wanted, origins: [attacker.address] })
      await node.reached('failed')
      expect(fetchedBlocks(node.dataDir, other)).toBe(sent.length)
      await node.restart()
      node.clock.advance(120_000)
      await node.reached('failed')
      expect(fetchedBlocks(node.dataDir, other)).toBe(sent.length)
      const rest = await net.provider(bait.blocks)
      await node.engine.pins.pin({ ...wanted, origins: [rest.address] })
      await node.reached('pinned')
      expect(owners(node.dataDir)).toEqual([OWNER, 0])
      const again = sent.slice(1).map(({ cid }) => rest.blocks.count(cid))
      expect(again).toEqual([0, 0])
    }))
})

describe('content of another account in a cluster on another system', () => {
  const cluster = { label: '', region: '', country: null, gateways: [] }
  const clusters = [
    { ...cluster, id: 'near' },
    { ...cluster, id: 'far' },
  ]

  test('is not copied from the cluster', () =>
    withNet(async net => {
      const node = await net.node({ clusters, defaultCluster: 'near', backends: { far: new MemoryCluster() } })
      const { engine, account } = node
      const upload = async (seed: string) => {
        const { record } = await engine.pins.upload(pseudoRandom(40_000, seed), { account, cluster: 'far' })
        return record.cid
      }
      const [kept, open] = [await upload('kept'), await upload('open')]
      await expect.poll(async () => (await engine.pins.status({ account, cid: open }))[0]?.record.status).toBe('pinned')
      await expect.poll(async () => (await engine.pins.status({ account, cid: kept }))[0]?.record.status).toBe('pinned')
      giveRoots(node.dataDir, kept, OWNER)
      const other = await node.newAccount()
      const origins = [(await net.provider([])).address]
      const pin = (cid: string) =>
        engine.pins.pin({ account: other, cid, origins, cluster: 'near', respondAsync: true })
      expect((await pin(open)).record.status).toBe('pinned')
      expect((await pin(kept)).record.status).not.toBe('pinned')
      const statusOf = async (cid: string) => (await engine.pins.status({ account: other, cid }))[0]?.record.status
      await expect.poll(() => statusOf(kept)).toBe('failed')
    }))
})

describe('the gateway', () => {
  test('tells strangers of a fetch only if its content will be public', () =>
    withNet(async net => {
      const provider = await net.provider(secret.blocks)
      provider.blocks.hangAfter(2)
      const node = await net.node({ pin: { ...quick, waitSeconds: 0.01, stallSeconds: 600 } })
      const cid = secret.root.toString()
      await node.engine.pins.pin({ account: node.account, cid, origins: [provider.address] })
      expect((await viaGateway(node.engine, `/ipfs/${cid}`)).status).toBe(503)
      withDatabase(node.dataDir, db => db.prepare('UPDATE fetches SET owner = 7').run())
      expect((await viaGateway(node.engine, `/ipfs/${cid}`)).status).toBe(404)
    }))
})
