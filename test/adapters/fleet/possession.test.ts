import { CID } from 'multiformats/cid'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/domain/clock.ts'
import { SCOPES } from '../../../src/index.ts'
import { MemoryCluster } from '../../clusters/memory-cluster.ts'
import { carOf } from '../../content/car/support/cars.ts'
import { type Dag, directoryOf } from '../../pins/fetches/support/dags.ts'
import { collect, pseudoRandom } from '../../support/bytes.ts'
import { type Fleet, openFleet, TWO_CLUSTERS, withFleet } from '../../support/fleet.ts'
import { giveRoots } from '../../support/owned-roots.ts'
import { needsPostgres, query, type SharedPostgres, sharedPostgres } from '../../support/postgres-server.ts'

const OWNER = 4_711
const SECRET = pseudoRandom(1_500_000, 'a secret of a fleet')
const NET = { network: { enabled: true } }

interface Secrets {
  /** A folder on node `b`, and a file that is listed below it. */
  folder: string
  file: string
}

describe('content of another account on another node', needsPostgres, () => {
  let server: SharedPostgres
  beforeAll(async () => {
    server = await sharedPostgres()
  })
  afterAll(() => server?.stop())

  /** Gives a root to an owner, in the ledger of its node and in the catalogue. */
  async function give(dataDir: string, database: string, cid: string, owner: number): Promise<void> {
    giveRoots(dataDir, cid, owner)
    const multihash = Buffer.from(CID.parse(cid).multihash.bytes).toString('hex')
    await query(database, `UPDATE roots SET owner = ${owner} WHERE multihash = '\\x${multihash}'`)
  }

  async function keep({ b, account, database }: Fleet, owner: number): Promise<Secrets> {
    const entries = [
      { kind: 'file', path: 'secret.bin', content: SECRET },
      { kind: 'file', path: 'beside.txt', content: `beside ${owner}` },
    ] as const
    const { record, files } = await b.engine.pins.uploadDirectory(entries, { account, cluster: 'second' })
    await give(b.dataDir, database, record.cid, owner)
    const file = files.find(({ path }) => path.endsWith('secret.bin'))
    return { folder: record.cid, file: file?.cid ?? '' }
  }

  async function attacker({ a }: Fleet) {
    const { id } = await a.engine.accounts.create({ email: 'two@example.org', plan: 'unlimited' })
    const { secret: key } = await a.engine.keys.create(id, { name: 'all', scopes: SCOPES })
    const call = async (path: string, body: string | Buffer<ArrayBuffer>, type = 'application/json') => {
      const headers = { authorization: `Bearer ${key}`, 'content-type': type }
      const answer = await fetch(`${a.url}/api/v3${path}`, { method: 'POST', headers, body })
      return { status: answer.status, json: (await answer.json()) as { code?: string; status?: string } }
    }
    return { id, call }
  }

  const codeOf = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'done',
      (error: { code?: string }) => error.code ?? String(error),
    )

  test('is pinned only if a root is public', async () => {
    await withFleet(await server.migrated(), async fleet => {
      const { a } = fleet
      const { id, call } = await attacker(fleet)
      const { folder, file } = await keep(fleet, OWNER)
      for (const cid of [folder, file]) {
        expect(await codeOf(a.engine.pins.pin({ account: id, cid, cluster: 'first' }))).toBe('CID_NOT_FOUND')
        const forwarded = await call(`/files/pin/${cid}`, JSON.stringify({ cl: 'second' }))
        expect([forwarded.status, forwarded.json.code]).toEqual([404, 'CID_NOT_FOUND'])
      }
      expect((await a.engine.stats()).roots.complete.count).toBe(0)
      const own = await keep(fleet, 0)
      expect(await codeOf(a.engine.pins.pin({ account: id, cid: own.folder, cluster: 'first' }))).toBe('done')
      expect(await codeOf(a.engine.pins.pin({ account: id, cid: own.file, cluster: 'first' }))).toBe('done')
    })
  })

  test('is missing in direct and forwarded CARs that link to it', async () => {
    await withFleet(await server.migrated(), async fleet => {
      const { call } = await attacker(fleet)
      const { folder, file } = await keep(fleet, OWNER)
      for (const cid of [folder, file]) {
        const bait = directoryOf({ bait: { root: CID.parse(cid), blocks: [], size: 9 } satisfies Dag })
        const car = Buffer.from(await collect([await carOf([bait.root], bait.blocks)]))
        for (const cl of ['first', 'second']) {
          const answer = await call(`/files/car?cl=${cl}`, car, 'application/vnd.ipld.car')
          expect([answer.status, answer.json.code]).toEqual([400, 'VALIDATION'])
        }
      }
    })
  })

  test('is fetched for no pin, neither from the node nor peers', async () => {
    await withFleet(
      await server.migrated(),
      async fleet => {
        const { a, b } = fleet
        const { id } = await attacker(fleet)
        const { folder, file } = await keep(fleet, OWNER)
        const origins = await b.engine.addresses()
        const ended: string[] = []
        const all = Promise.withResolvers<void>()
        a.engine.events.on('pin:status', ({ record }) => {
          if (record.status !== 'failed' && record.status !== 'pinned') return
          ended.push(record.status)
          if (ended.length === 2) all.resolve()
        })
        for (const cid of [folder, file]) {
          await a.engine.pins.pin({ account: id, cid, cluster: 'first', origins, isAnew: true })
        }
        await all.promise
        expect(ended).toEqual(['failed', 'failed'])
        expect((await a.engine.stats()).roots.complete.count).toBe(0)
      },
      NET,
    )
  })

  test('is not fetched from a cluster on another system', async () => {
    const [first, second] = TWO_CLUSTERS.clusters
    const clusters = [first, second, { ...first, id: 'third' }] as (typeof TWO_CLUSTERS)['clusters']
    const database = await server.migrated()
    const backends = { first: new MemoryCluster() }
    const { a, close } = await openFleet({ ...NET, database, clock: systemClock, ...TWO_CLUSTERS, clusters, backends })
    try {
      const { id: account } = await a.engine.accounts.create({ email: 'one@example.org', plan: 'unlimited' })
      const { id: other } = await a.engine.accounts.create({ email: 'two@example.org', plan: 'unlimited' })
      const upload = async (seed: string): Promise<string> => {
        const { record } = await a.engine.pins.upload(pseudoRandom(900, seed), { account, cluster: 'first' })
        const statusOf = async () => (await a.engine.pins.status({ account, cid: record.cid }))[0]?.record.status
        await expect.poll(statusOf).toBe('pinned')
        return record.cid
      }
      const [kept, open] = [await upload('kept'), await upload('open')]
      await give(a.dataDir, database, kept, OWNER)
      for (const cid of [kept, open]) {
        await a.engine.pins.pin({ account: other, cid, cluster: 'third', isAnew: true, respondAsync: true })
      }
      const statusOf = async (cid: string) => (await a.engine.pins.status({ account: other, cid }))[0]?.record.status
      await expect.poll(() => statusOf(open)).toBe('pinned')
      await expect.poll(() => statusOf(kept)).toBe('failed')
    } finally {
      await close()
    }
  })
})
