import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/domain/clock.ts'
import { settled } from '../../../src/testing/index.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { type FleetNode, openFleet } from '../../support/fleet.ts'
import { needsPostgres, startPostgres, type TestPostgres } from '../../support/postgres-server.ts'

const CLUSTER = { id: 'main', label: '', region: '', country: null, gateways: [], nodes: ['a', 'b', 'c'], copies: 2 }
/** More than one block. */
const LARGE = 3_500_000

describe('copies between nodes', { timeout: 120_000, ...needsPostgres }, () => {
  let server: TestPostgres
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server?.stop())

  interface Copied {
    nodes: FleetNode[]
    account: string
    /** Resolves when all copies are made. */
    done: () => Promise<void>
  }
  const withCopies = async (run: (fleet: Copied) => Promise<void>) => {
    const config = { database: await server.fresh(), clusters: [CLUSTER], defaultCluster: 'main', clock: systemClock }
    const { a, nodes, close } = await openFleet(config, 3)
    try {
      const { id: account } = await a.engine.accounts.create({ email: 'one@example.org', plan: 'unlimited' })
      await run({ nodes, account, done: () => settled(nodes.map(({ engine }) => engine)) })
    } finally {
      await close()
    }
  }
  const upload = async ({ nodes, account }: Copied, name: string, bytes = 900) =>
    (await nodes[0]?.engine.pins.upload([pseudoRandom(bytes, name)], { account, name }))?.record ?? never()
  const never = (): never => {
    throw new Error('it is not there')
  }
  const read = async (node: FleetNode, cid: string): Promise<[number, number]> => {
    const answer = await fetch(`${node.url}/ipfs/${cid}`)
    return [answer.status, (await answer.arrayBuffer()).byteLength]
  }

  test('each content is readable while its first node is away', async () => {
    await withCopies(async fleet => {
      const [a, ...others] = fleet.nodes
      const small = await upload(fleet, 'small')
      const large = await upload(fleet, 'large', LARGE)
      await fleet.done()
      await a?.stop()
      for (const node of others) {
        expect(await read(node, small.cid)).toEqual([200, 900])
        expect(await read(node, large.cid)).toEqual([200, LARGE])
      }
      await a?.start()
      await a?.engine.pins.remove(small.cid, { account: fleet.account })
      await fleet.done()
      for (const node of fleet.nodes) expect((await read(node, small.cid))[0]).toBe(404)
    })
  })

  test('a response goes on with another node when its node ends', async () => {
    await withCopies(async fleet => {
      const [a, ...others] = fleet.nodes
      const { cid } = await upload(fleet, 'large', LARGE * 6)
      await fleet.done()
      const answers = await Promise.all(others.map(({ url }) => fetch(`${url}/ipfs/${cid}`)))
      a?.server.closeAllConnections()
      await a?.stop()
      const bytes = await Promise.all(answers.map(async answer => Buffer.from(await answer.arrayBuffer())))
      for (const one of bytes) expect(one.equals(pseudoRandom(LARGE * 6, 'large'))).toBe(true)
      await a?.start()
    })
  })
})
