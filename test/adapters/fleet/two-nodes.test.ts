import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { cp } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { postgres } from '../../../adapters/postgres/index.ts'
import { createEngine } from '../../../src/index.ts'
import { type FleetNode, TWO_CLUSTERS, withFleet, withStandingFleet } from '../../support/fleet.ts'
import { newDirectory } from '../../support/new-database.ts'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../../support/postgres-server.ts'

interface Answer {
  cid: string
  status: string
  clusterId: string
  code: string
  uploads: Array<{ cid: string }>
}

describe('two nodes on one catalogue', needsPostgres, () => {
  let server: SharedPostgres
  beforeAll(async () => {
    server = await sharedPostgres()
  })
  afterAll(() => server?.stop())

  const bytes = (size: number, seed: number): Uint8Array<ArrayBuffer> =>
    new Uint8Array(Buffer.alloc(size, createHash('sha256').update(String(seed)).digest()))
  const call = async (node: FleetNode, key: string, path: string, init: RequestInit = {}) => {
    const headers = { 'x-api-key': key, ...init.headers }
    const response = await fetch(`${node.url}/api/v3${path}`, { ...init, headers })
    return { status: response.status, headers: response.headers, json: (await response.json()) as Answer }
  }
  const formOf = (content: Uint8Array<ArrayBuffer>, fields: Record<string, string> = {}, behind = false) => {
    const form = new FormData()
    if (!behind) for (const [name, value] of Object.entries(fields)) form.set(name, value)
    form.set('file', new Blob([content]), 'file.bin')
    if (behind) for (const [name, value] of Object.entries(fields)) form.set(name, value)
    return form
  }
  const counts = async (node: FleetNode): Promise<[roots: number, blocks: number]> => {
    const { roots, blocks } = await node.engine.stats()
    return [roots.complete.count, blocks.durable.count]
  }

  const collected = async (node: FleetNode) => {
    await node.engine.collect({ graceSeconds: 0 })
    return counts(node)
  }

  test('a restarted node drops content removed meanwhile', async () => {
    await withStandingFleet(await server.migrated(), async ({ a, b, key, settled }) => {
      const upload = async (through: FleetNode, seed: number): Promise<string> => {
        const body = formOf(bytes(1_500_000, seed), { cl: 'second' })
        return (await call(through, key, '/files', { method: 'POST', body })).json.cid
      }
      const [removed, kept] = [await upload(a, 1), await upload(b, 2)]
      expect(await counts(b)).toEqual([2, 6])
      await b.stop()
      expect((await call(a, key, `/files/remove/${removed}`, { method: 'DELETE' })).status).toBe(200)
      expect((await fetch(`${a.url}/ipfs/${removed}`)).status).toBe(404)
      await b.start()
      await settled()
      expect(await collected(b)).toEqual([1, 3])
      expect((await b.engine.reconcile()).findings).toEqual([])
      expect(await upload(b, 2)).toBe(kept)
    })
  })

  test('a form that names its cluster after a large file arrives', async () => {
    await withStandingFleet(await server.migrated(), async ({ a, b, key, settled }) => {
      const content = bytes(1_500_000, 1)
      const send = async (fields: Record<string, string>, behind = true) =>
        await call(a, key, '/files', { method: 'POST', body: formOf(content, fields, behind) })
      const { status, json } = await send({ cl: 'second' })
      expect([status, json.status, json.clusterId]).toEqual([201, 'pinned', 'second'])
      await settled()
      expect([await collected(a), await collected(b)]).toEqual([
        [0, 0],
        [1, 3],
      ])
      expect((await send({ cl: 'second' })).status).toBe(200)
      expect((await send({ cl: 'second' }, false)).json.cid).toBe(json.cid)
    })
  })

  test('refuses a second node with the same directory or id', async () => {
    const database = await server.migrated()
    await withFleet(database, async ({ a, b, key }) => {
      const [copied, other] = [`${b.dataDir}-copied`, `${b.dataDir}-other`]
      await cp(b.dataDir, copied, { recursive: true })
      await cp(join(b.dataDir, 'data.key'), join(other, 'data.key'))
      const node = { id: 'b', url: 'http://127.0.0.1:1' }
      const start = (dataDir: string) =>
        createEngine({ catalogue: postgres, ...TWO_CLUSTERS, database, dataDir: newDirectory(dataDir), node })
      await expect(start(copied)).rejects.toMatchObject({ code: 'DATA_DIR_IN_USE' })
      const message = expect.stringContaining('node.id: b is already the id of another')
      await expect(start(other)).rejects.toMatchObject({ code: 'CONFIG_INVALID', message })
      // The original still runs.
      const body = formOf(bytes(900, 1), { cl: 'second' })
      expect((await call(a, key, '/files', { method: 'POST', body })).status).toBe(201)
      // After the original has stopped, the copy may run.
      await b.stop()
      const engine = await start(copied)
      await engine.stop()
    })
  })

  test('a node withdraws content that another node removed', async () => {
    await withFleet(
      await server.migrated(),
      async ({ a, b, key }) => {
        const { json } = await call(a, key, '/files', { method: 'POST', body: formOf(bytes(900, 1), { cl: 'second' }) })
        const announced = async (node: FleetNode): Promise<number> => {
          let count = 0
          for await (const _ of (await node.engine.helia()).datastore.query({ prefix: '/dht/provider' })) count++
          return count
        }
        await expect.poll(() => announced(b)).toBe(1)
        expect((await call(a, key, `/files/remove/${json.cid}`, { method: 'DELETE' })).status).toBe(200)
        await expect.poll(() => announced(b)).toBe(0)
        expect(await announced(a)).toBe(0)
      },
      { network: { enabled: true, dht: 'server' } },
    )
  })

  test('each uploads to, lists, reads and removes content of the other', async () => {
    await withStandingFleet(await server.migrated(), async ({ a, b, key, settled, advance }) => {
      const uploads: Array<{ cid: string; at: FleetNode; content: Uint8Array }> = []
      const ways = [
        { through: a, at: a, size: 900, headers: { 'x-cluster': 'first' }, form: {} },
        { through: a, at: b, size: 1_500_000, headers: { 'x-cluster': 'second' }, form: {} },
        { through: b, at: a, size: 1_500_000, headers: {}, form: {} },
        { through: b, at: b, size: 900, headers: {}, form: { cl: 'second' }, behind: true },
        { through: a, at: b, size: 1_000, headers: {}, form: { cl: 'second' }, behind: true },
        { through: b, at: a, size: 1_500_001, headers: { 'x-cluster': 'first' }, form: { cl: 'second' } },
        { through: a, at: b, size: 1_500_001, headers: {}, form: { cl: 'second' } },
      ]
      for (const [i, { through, at, size, headers, form, behind }] of ways.entries()) {
        const content = bytes(size, i)
        const body = formOf(content, form, behind)
        const { status, json } = await call(through, key, '/files', { method: 'POST', body, headers })
        expect([status, json.status, json.clusterId]).toEqual([201, 'pinned', at === a ? 'first' : 'second'])
        uploads.push({ cid: json.cid, at, content })
        await advance(1)
      }
      expect(await counts(a)).toEqual([3, 7])
      expect(await counts(b)).toEqual([4, 8])
      for (const node of [a, b]) {
        const list = await call(node, key, '/users/me/uploads')
        expect(list.json.uploads.map(({ cid }) => cid)).toEqual(uploads.map(({ cid }) => cid).reverse())
        for (const { cid, content } of uploads) {
          expect((await call(node, key, `/status/${cid}`)).json.status).toBe('pinned')
          const read = await fetch(`${node.url}/ipfs/${cid}`)
          expect([read.status, read.status === 200 || (await read.text())]).toEqual([200, true])
          expect(Buffer.from(await read.arrayBuffer()).equals(content)).toBe(true)
        }
      }
      for (const { cid, at } of uploads) {
        const other = at === a ? b : a
        expect((await call(other, key, `/files/remove/${cid}`, { method: 'DELETE' })).status).toBe(200)
        expect((await fetch(`${other.url}/ipfs/${cid}`)).status).toBe(404)
      }
      await settled()
      for (const node of [a, b]) expect(await collected(node)).toEqual([0, 0])
    })
  })

  test('refuse a replayed request between them', async () => {
    await withStandingFleet(await server.migrated(), async ({ a, b, key }) => {
      const recorded = once(b.server, 'request') as Promise<[IncomingMessage]>
      const send = async (to: FleetNode, headers: Record<string, string>, content: string) => {
        const response = await fetch(`${to.url}/api/v3/files`, {
          method: 'POST',
          headers: { 'content-type': 'multipart/form-data; boundary=b', ...headers },
          body: `--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n${content}\r\n--b--\r\n`,
        })
        return [response.status, ((await response.json()) as Answer).code]
      }
      expect(await send(a, { 'x-api-key': key, 'x-cluster': 'second' }, 'sent')).toEqual([201, undefined])
      const [{ headers }] = await recorded
      const proof = {
        'holdfast-passed-on': String(headers['holdfast-passed-on']),
        'x-api-key': key,
        'x-cluster': 'second',
        'user-agent': String(headers['user-agent']),
        accept: String(headers.accept),
      }
      const refused = [503, 'UNAVAILABLE']
      expect(await send(b, proof, 'sent')).toEqual(refused)
      expect(await send(b, proof, 'else')).toEqual(refused)
      // More failed attempts than an address may make. They must not count for the client.
      for (let i = 0; i < 301; i++)
        expect(await send(b, { ...proof, 'x-api-key': `wrong ${i}` }, 'sent')).toEqual(refused)
      expect(await send(b, { 'x-api-key': 'wrong' }, 'sent')).toEqual([401, 'INVALID_API_KEY'])
      expect(await counts(b)).toEqual([1, 1])
      const [stored] = (await call(b, key, '/users/me/uploads')).json.uploads
      expect((await fetch(`${b.url}/fleet/v1/blocks/${stored?.cid}`)).status).toBe(404)
    })
  })

  test('content of a node that is down is unavailable, not missing', async () => {
    await withStandingFleet(await server.migrated(), async ({ a, b, key, advance }) => {
      const body = (): FormData => formOf(bytes(1_500_000, 1), { cl: 'second' })
      const { json } = await call(a, key, '/files', { method: 'POST', body: body() })
      await b.stop()
      const read = async () => {
        const answer = await fetch(`${a.url}/ipfs/${json.cid}`)
        await answer.arrayBuffer()
        return [answer.status, answer.headers.get('retry-after')]
      }
      const refused = async () => {
        const { status, headers, json } = await call(a, key, '/files', { method: 'POST', body: body() })
        return [status, json.code, headers.get('retry-after')]
      }
      // The other node remembers for two seconds which nodes run.
      await advance(2_000)
      expect(await refused()).toEqual([503, 'UNAVAILABLE', '5'])
      expect(await read()).toEqual([503, '5'])
      await b.start()
      await advance(2_000)
      expect(await read()).toEqual([200, null])
    })
  })
})
