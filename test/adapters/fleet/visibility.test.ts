import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pseudoRandom } from '../../support/bytes.ts'
import { withFleet } from '../../support/fleet.ts'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../../support/postgres-server.ts'
import { checkAdoption } from '../../visibility/adoption.ts'
import { disguise, whatLeads } from '../../visibility/codecs.ts'
import { askersOf, keep } from '../../visibility/kept-content.ts'
import { type Asker, ask, CANARY, differences, type Port } from '../../visibility/matrix.ts'
import { API_SURFACES, HOST, SURFACES } from '../../visibility/surfaces.ts'

/** Begins to read. On a busy machine, a node may answer 503 at first. */
async function begin(url: string): Promise<Response> {
  let answer = await fetch(url)
  await expect
    .poll(
      async () => {
        if (answer.status !== 200) answer = await fetch(url)
        return answer.status
      },
      { timeout: 100_000 },
    )
    .toBe(200)
  return answer
}

/** Returns how the rest of a response ends, not its bytes, of which a report would be too long. */
function ending(answer: Response): Promise<'ended' | 'whole'> {
  return answer.arrayBuffer().then(
    () => 'whole',
    () => 'ended',
  )
}

describe('private content of a fleet', needsPostgres, () => {
  let server: SharedPostgres
  beforeAll(async () => {
    server = await sharedPostgres()
  })
  afterAll(() => server?.stop())

  test('ends begun responses on all nodes when its visibility changes', { timeout: 240_000 }, async () => {
    await withFleet(await server.migrated(), async ({ a, b, account }) => {
      const { record } = await a.engine.pins.upload(pseudoRandom(24 * 1024 ** 2, 'begun'), {
        account,
        cluster: 'first',
      })
      const { cid, uploadId } = record
      const begun = await Promise.all([a, b].map(({ url }) => begin(`${url}/ipfs/${cid}`)))
      // Node b passes the change on to node a, which keeps the content.
      const hide = () => b.engine.pins.setVisibility({ account, uploadId, visibility: 'private' })
      // On a busy machine, a node may confirm too late.
      await expect.poll(async () => (await hide()).pending, { timeout: 60_000 }).toEqual([])
      expect(await Promise.all(begun.map(ending))).toEqual(['ended', 'ended'])
      for (const { url } of [a, b]) expect((await fetch(`${url}/ipfs/${cid}`)).status).toBe(404)
      await a.stop()
      const shown = b.engine.pins.setVisibility({ account, uploadId, visibility: 'public' })
      await expect(shown).rejects.toMatchObject({ code: 'UNAVAILABLE' })
      expect((await b.engine.pins.get({ account, uploadId })).visibility).toBe('private')
    })
  })

  test('follows the rule for content made from private blocks', { timeout: 240_000 }, async () => {
    await withFleet(await server.migrated(), async ({ a, account }) => {
      const { id: other } = await a.engine.accounts.create({ email: 'two@example.org', plan: 'unlimited' })
      const call = (method: string, path: string, headers: Record<string, string>, body?: Uint8Array) =>
        fetch(`${a.url}${path}`, { method, headers, ...(body && { body: Buffer.from(body) }) })
      await checkAdoption({ engine: a.engine, account, other, call })
    })
  })

  test('is absent for strangers and other accounts, on every node', { timeout: 600_000 }, async () => {
    await withFleet(
      await server.migrated(),
      async ({ a, b, account }) => {
        const { contents, shared } = await keep(a.engine, account, 'first')
        const { id: other } = await a.engine.accounts.create({ email: 'two@example.org', plan: 'unlimited' })
        const askers = await askersOf(a.engine, account, other)
        const ports = [a, b].flatMap(({ id, url }): Port[] => {
          const port = Number(new URL(url).port)
          return [
            { name: `the API of ${id}`, kind: 'api', port },
            { name: `the gateway of ${id}`, kind: 'gateway', port },
          ]
        })
        expect(await differences(ports, SURFACES, contents, askers)).toEqual([])
        expect(await differences(ports, API_SURFACES, contents, askers.slice(0, 2))).toEqual([])
        for (const port of ports) {
          const path = { name: 'path', port: port.kind, path: (cid: string) => `/ipfs/${cid}` }
          const { status, body } = await ask(port, path, shared, askers[0] as Asker)
          expect([port.name, status, body]).toEqual([port.name, 200, 'a shared public file'])
        }
      },
      { gateway: { host: HOST } },
    )
  })

  test('is reached by no bytes of a block, on any node', { timeout: 240_000 }, async () => {
    await withFleet(await server.migrated(), async ({ a, b, account }) => {
      const { id: stranger } = await a.engine.accounts.create({ email: 'two@example.org', plan: 'unlimited' })
      const who = { account, stranger, cluster: 'first' }
      const hidden = await disguise(a.engine, who, 'private')
      const open = await disguise(a.engine, who, 'public')
      for (const { url } of [a, b]) {
        expect((await whatLeads(url, hidden)).filter(([, leads]) => leads)).toEqual([])
        expect((await whatLeads(url, open)).filter(([, leads]) => !leads)).toEqual([])
      }
      const pin = (cid: string) =>
        b.engine.pins.pin({ account: stranger, cid, cluster: 'second' }).then(
          ({ record }) => record.status,
          (error: { code?: string }) => error.code,
        )
      for (const cid of [hidden.directory, hidden.file]) expect([cid, await pin(cid)]).toEqual([cid, 'CID_NOT_FOUND'])
      for (const cid of [open.directory, open.file]) expect([cid, await pin(cid)]).toEqual([cid, 'pinned'])
    })
  })

  test('is read by its account on every node', { timeout: 240_000 }, async () => {
    await withFleet(await server.migrated(), async ({ a, b, account }) => {
      const { contents } = await keep(a.engine, account, 'first')
      const { secret } = await a.engine.keys.create(account, { name: 'own', scopes: ['files:read'] })
      const reader = { name: 'its account', headers: { authorization: `Bearer ${secret}` } }
      const car = { name: 'CAR', port: 'api' as const, path: (cid: string) => `/ipfs/${cid}?format=car` }
      for (const { id, url } of [a, b]) {
        const port = { name: id, kind: 'api' as const, port: Number(new URL(url).port) }
        for (const [name, cid] of Object.entries(contents)) {
          const { status, body, headers } = await ask(port, car, cid, reader)
          expect([id, name, status, body.includes(CANARY)]).toEqual([id, name, 200, true])
          expect(headers).toContain('cache-control: no-store')
        }
      }
    })
  })
})
