import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { carOf } from '../../content/car/support/cars.ts'
import { Receiver } from '../../features/webhooks/receiver.ts' // feature: webhooks
import { fileOf, leaf, leaves } from '../../pins/fetches/support/dags.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { type NodeProcess, openNodeProcesses } from '../../support/fleet-processes.ts'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../../support/postgres-server.ts'
import { storeSizes } from '../../support/store-inspection.ts'

const MIB = 1024 ** 2
/** Another node reacts after a moment, or much later on a busy machine. */
const PATIENCE = { timeout: 80_000 }

interface Uploaded {
  cid: string
  code: string
}
interface Listed {
  uploads: Array<{ cid: string; status: string }>
}

describe('two servers on one catalogue', { timeout: 120_000, ...needsPostgres }, () => {
  let postgres: SharedPostgres
  let database: pg.Client
  let a: NodeProcess
  let b: NodeProcess
  let close: () => Promise<void>
  /** A gateway from which both nodes fetch. */
  let origin: http.Server
  const atOrigin = new Map<string, Uint8Array | 'never answered'>()

  beforeAll(async () => {
    postgres = await sharedPostgres()
    origin = http.createServer(serveOrigin).listen(0, '127.0.0.1')
    await once(origin, 'listening')
    const url = await postgres.migrated()
    database = new pg.Client({ connectionString: url })
    await database.connect()
    const gateways = [`http://127.0.0.1:${(origin.address() as AddressInfo).port}`]
    const network = { listen: ['/ip4/127.0.0.1/tcp/0'], gateways, allowPrivateGateways: true }
    const opened = await openNodeProcesses(url, {
      network,
      webhooks: { allowPrivate: true }, // feature: webhooks
    })
    ;({ a, b, close } = opened)
  })
  beforeEach(async () => {
    // For up to two seconds, a restarted node refuses uploads that another node forwards as streams.
    const probe = () => formOf(pseudoRandom(100, 'probe'), { cl: 'second' })
    await expect.poll(async () => (await a.call('POST', '/api/v3/files', probe())).status, PATIENCE).toBe(201)
    for (const { cid } of await listed(a)) await a.call('DELETE', `/api/v3/files/remove/${cid}`)
  })
  afterAll(async () => {
    await close?.()
    await database?.end()
    origin?.closeAllConnections()
    origin?.close()
    await postgres?.stop()
  })

  function serveOrigin(request: IncomingMessage, response: ServerResponse): void {
    const [, cid = ''] = /^\/ipfs\/([^/?]+)/.exec(request.url ?? '') ?? []
    const bytes = atOrigin.get(cid)
    if (bytes === 'never answered') return
    if (bytes === undefined) response.writeHead(404).end()
    else response.writeHead(200, { 'content-type': 'application/vnd.ipld.raw' }).end(bytes)
  }

  /** The reader threads take over after the first request, and close existing connections. */
  const servedByThreads = async (node: NodeProcess): Promise<void> => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    for (let isLeft = false; !isLeft; ) {
      const asked = http.get(`${node.gateway}/`, { agent }).on('error', () => undefined)
      const [answer] = (await Promise.race([once(asked, 'response'), once(asked, 'close')])) as [IncomingMessage?]
      isLeft = answer?.headers.connection === 'close'
      answer?.resume()
    }
    agent.destroy()
  }

  const listed = async (node: NodeProcess) => (await node.call<Listed>('GET', '/api/v3/users/me/uploads')).json.uploads
  const formOf = (content: Uint8Array, fields: Record<string, string> = {}): FormData => {
    const form = new FormData()
    for (const [name, value] of Object.entries(fields)) form.set(name, value)
    form.set('file', new Blob([new Uint8Array(content)]), 'file.bin')
    return form
  }
  const upload = async (through: NodeProcess, cl: string, content: Uint8Array, fields = {}): Promise<string> => {
    const { status, json } = await through.call<Uploaded>('POST', '/api/v3/files', formOf(content, { cl, ...fields }))
    expect([status, json.code]).toEqual([201, undefined])
    return json.cid
  }
  const usage = async (node: NodeProcess) => {
    const { json } = await node.call<{ usage: object }>('GET', '/api/v3/users/me')
    return json.usage
  }
  const rows = async (text: string) => (await database.query<Record<string, unknown>>(text)).rows
  /** Returns what ledger and disk have after garbage collection. */
  const kept = async (node: NodeProcess) => {
    await node.call('POST', '/admin/v1/gc', { graceSeconds: 0 })
    const { roots, blocks, blockFiles, tempFiles } = await storeSizes(node.dataDir)
    return { roots, blocks, blockFiles, tempFiles }
  }
  const NOTHING = { roots: 0, blocks: 0, blockFiles: 0, tempFiles: 0 }

  test('an upload interrupted by a kill leaves nothing after the restart', async () => {
    const before = await usage(a)
    const uploads = [a.begin('second', pseudoRandom(3 * MIB, '1')), b.begin('second', pseudoRandom(3 * MIB, '2'))]
    await expect.poll(async () => (await storeSizes(b.dataDir)).blockFiles, PATIENCE).toBeGreaterThanOrEqual(4)
    await b.kill()
    for (const begun of uploads) begun.end()
    // The forwarding node cannot know whether the request succeeded.
    expect(await Promise.all(uploads.map(({ answer }) => answer))).toEqual([
      { status: 503, code: 'OUTCOME_UNKNOWN' },
      { status: null, code: null },
    ])
    expect([await listed(a), await usage(a)]).toEqual([[], before])
    await b.start()
    await expect.poll(() => kept(b), PATIENCE).toEqual(NOTHING)
    expect([await listed(b), await usage(b)]).toEqual([[], before])
    await expect.poll(() => rows('SELECT id FROM holds'), PATIENCE).toEqual([])
  })

  test('an upload killed between ledger and commit is not served afterwards', async () => {
    const content = pseudoRandom(500, 'never committed')
    const locking = new pg.Client({ connectionString: b.config.database as string })
    await locking.connect()
    try {
      await locking.query('BEGIN; SELECT 1 FROM accounts FOR UPDATE')
      const begun = b.begin('second', content)
      begun.end()
      const roots = async () => (await storeSizes(b.dataDir)).roots
      await expect.poll(roots, PATIENCE).toBe(1)
      const placing = () => rows("SELECT state FROM holds WHERE state = 'placing'")
      await expect.poll(placing, PATIENCE).toHaveLength(1)
      await b.kill()
      expect((await begun.answer).status).toBeNull()
    } finally {
      await locking.query('ROLLBACK')
      await locking.end()
    }
    await b.start()
    await expect.poll(() => kept(b), PATIENCE).toEqual(NOTHING)
    const read = await fetch(`${b.url}/ipfs/${leaf(content).root}`)
    expect([read.status, await rows('SELECT id FROM holds')]).toEqual([404, []])
  })

  test('a restarted node continues fetches that were not removed meanwhile', async () => {
    const [left, kept1] = [leaf(pseudoRandom(2_000, 'left')), leaf(pseudoRandom(2_000, 'kept'))]
    for (const { root } of [left, kept1]) atOrigin.set(String(root), 'never answered')
    const requested: string[] = []
    for (const { root } of [left, kept1]) {
      const made = await a.call<{ requestid: string }>('POST', '/psa/pins', { cid: String(root) })
      expect(made.status).toBe(202)
      requested.push(made.json.requestid)
    }
    const states = async (node: NodeProcess) => (await listed(node)).map(({ cid, status }) => [cid, status])
    const both = [kept1, left].map(({ root }) => [String(root), 'pinning'])
    await expect.poll(() => states(a), PATIENCE).toEqual(both)
    await b.kill()
    expect(await states(a)).toEqual(both)
    expect((await a.call('GET', `/psa/pins/${requested[0]}`)).status).toBe(200)
    expect((await a.call('DELETE', `/psa/pins/${requested[0]}`)).status).toBe(202)
    expect(await states(a)).toEqual(both.slice(0, 1))
    atOrigin.set(String(kept1.root), kept1.blocks[0]?.bytes ?? new Uint8Array())
    await b.start()
    await expect.poll(() => states(a), PATIENCE).toEqual([[String(kept1.root), 'pinned']])
    await expect.poll(() => rows('SELECT id FROM fetches'), PATIENCE).toEqual([])
    expect((await kept(b)).blocks).toBe(1)
    await expect.poll(async () => (await fetch(`${a.url}/ipfs/${kept1.root}`)).status, PATIENCE).toBe(200)
  })

  test('either node passes server paths and CARs to the right node', async () => {
    await mkdir(join(b.dataDir, 'import/photos'), { recursive: true })
    await writeFile(join(b.dataDir, 'import/photos/one.jpg'), 'a photo')
    const path = { dirPath: 'photos', cl: 'second' }
    const imported = await a.call<Uploaded>('POST', '/api/v3/files/directory', path)
    expect(imported.status).toBe(201)
    expect((await b.call<Uploaded>('POST', '/api/v3/files/directory', path)).json.cid).toBe(imported.json.cid)
    expect(await (await fetch(`${a.url}/ipfs/${imported.json.cid}/one.jpg`)).text()).toBe('a photo')
    // The other machine does not have this path.
    const elsewhere = await b.call<Uploaded>('POST', '/api/v3/files/directory', { ...path, cl: 'first' })
    expect([elsewhere.status, elsewhere.json.code]).toEqual([400, 'INVALID_PATH'])
    const file = fileOf(leaves(3, 200_000, 'of a car'))
    const car = { 'content-type': 'application/vnd.ipld.car', 'x-cluster': 'second' }
    const taken = await a.call<Uploaded>('POST', '/api/v3/files/car', await carOf([file.root], file.blocks), car)
    expect([taken.status, taken.json.cid]).toEqual([201, String(file.root)])
    const short = await carOf([file.root], file.blocks.slice(0, 2))
    const refused = await a.call<Uploaded>('POST', '/api/v3/files/car', short, { ...car, 'x-cluster': 'first' })
    const same = await b.call<Uploaded>('POST', '/api/v3/files/car', short, { ...car, 'x-cluster': 'first' })
    expect([same.status, same.json]).toEqual([refused.status, refused.json])
    await expect.poll(async () => [(await kept(a)).blocks, (await kept(b)).blocks], PATIENCE).toEqual([0, 6])
    expect((await listed(a)).map(({ cid }) => cid)).toEqual([String(file.root), imported.json.cid])
  })

  test('gateway threads serve another node’s content and report it down', async () => {
    const content = pseudoRandom(3 * MIB, 'file')
    const cid = await upload(a, 'second', content)
    const ends = Date.now() + 3_600_000
    const ending = await upload(a, 'second', pseudoRandom(1_000, 'ends'), { timelock: new Date(ends).toISOString() })
    const form = new FormData()
    form.set('cl', 'second')
    form.append('files', new Blob(['one']), 'one.txt')
    form.append('files', new Blob(['two']), 'below/two.txt')
    const made = await a.call<Uploaded>('POST', '/api/v3/files/directory-dag', form)
    expect(made.status).toBe(201)
    for (const node of [a, b]) await servedByThreads(node)
    const read = async (node: NodeProcess, path: string, headers: Record<string, string> = {}, method = 'GET') => {
      const answer = await fetch(`${node.gateway}${path}`, { method, headers })
      return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) }
    }
    expect((await read(a, `/ipfs/${cid}`)).bytes.equals(content)).toBe(true)
    const part = await read(a, `/ipfs/${cid}`, { range: `bytes=${MIB - 5}-${2 * MIB + 4}` })
    expect([part.status, part.bytes.equals(content.subarray(MIB - 5, 2 * MIB + 5))]).toEqual([206, true])
    const head = await read(a, `/ipfs/${cid}`, {}, 'HEAD')
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(3 * MIB)])
    expect((await read(a, `/ipfs/${made.json.cid}/`)).bytes.toString()).toContain('one.txt')
    expect((await read(a, `/ipfs/${made.json.cid}/below/two.txt`)).bytes.toString()).toBe('two')
    // A listed file is found by its own CID. Deeper blocks are found only on their node.
    expect((await read(a, `/ipfs/${leaf(Buffer.from('two')).root}`)).bytes.toString()).toBe('two')
    const chunk = `/ipfs/${leaf(content.subarray(0, MIB)).root}`
    expect([(await read(a, chunk)).status, (await read(b, chunk)).status]).toEqual([404, 200])
    // No cache may keep it after its end.
    const kept = /^public, max-age=(\d+), must-revalidate$/.exec(
      (await read(a, `/ipfs/${ending}`)).headers.get('cache-control') ?? '',
    )
    expect(Number(kept?.[1])).toBeGreaterThan(0)
    expect(Number(kept?.[1])).toBeLessThanOrEqual(3_600)
    await b.kill()
    const away = await read(a, `/ipfs/${cid}`)
    expect([away.status, away.headers.get('retry-after')]).toEqual([503, '5'])
    await b.start()
    await expect.poll(async () => (await read(a, `/ipfs/${cid}`)).status, PATIENCE).toBe(200)
  })

  test('a read through another node breaks off when the content is removed', async () => {
    // Larger than all buffers: one block many times, read from its node each time.
    const content = Buffer.alloc(48 * MIB, pseudoRandom(MIB, 'removed'))
    const cid = await upload(a, 'second', content)
    const asked = http.get(`${a.gateway}/ipfs/${cid}`, { agent: false })
    const [answer] = (await once(
      asked.on('error', () => undefined),
      'response',
    )) as [IncomingMessage]
    expect((await a.call('DELETE', `/api/v3/files/remove/${cid}`)).status).toBe(200)
    await expect.poll(() => kept(b), PATIENCE).toEqual(NOTHING)
    let bytes = 0
    const rest = async (): Promise<void> => {
      for await (const chunk of answer) bytes += (chunk as Buffer).length
    }
    await expect(rest()).rejects.toThrow('aborted')
    expect(bytes).toBeLessThan(content.length)
    for (const node of [a, b]) expect((await fetch(`${node.gateway}/ipfs/${cid}`)).status).toBe(404)
  })

  // feature: webhooks
  test('another node repeats a killed node’s deliveries under the same id', async () => {
    await using receiver = await new Receiver().start()
    receiver.answer = () => undefined
    expect((await b.call('POST', '/api/v3/webhooks', { url: receiver.url })).status).toBe(201)
    await a.kill()
    const timelock = new Date(Date.now() + 3_600_000).toISOString()
    const cid = await upload(b, 'second', Buffer.from('told'), { timelock })
    await expect.poll(() => receiver.events.length, PATIENCE).toBe(1)
    await b.kill()
    receiver.answer = response => response.writeHead(204).end()
    // Expires the leases of both nodes.
    await rows("UPDATE jobs SET leased_until = leased_until - INTERVAL '1 hour'")
    await rows('UPDATE records SET expires_at = 1')
    await Promise.all([a.start(), b.start()])
    await expect.poll(() => listed(a), PATIENCE).toEqual([])
    await expect.poll(() => rows("SELECT key FROM jobs WHERE kind = 'delivery'"), PATIENCE).toEqual([])
    const told = Object.groupBy(receiver.events, ({ event }) => event)
    expect(told['pin:created']).toHaveLength(2)
    expect(told['pin:created']?.[0]).toEqual(told['pin:created']?.[1])
    expect(told['pin:removed']).toEqual([expect.objectContaining({ record: expect.objectContaining({ cid }) })])
    await expect.poll(() => rows('SELECT id FROM holds'), PATIENCE).toEqual([])
  })
  // end

  test('a node that is shutting down finishes its requests and gets none', async () => {
    const content = pseudoRandom(2 * MIB, 'before')
    const cid = await upload(a, 'second', pseudoRandom(1_000, 'read'))
    const begun = a.begin('second', content)
    await expect.poll(async () => (await storeSizes(b.dataDir)).blockFiles, PATIENCE).toBeGreaterThanOrEqual(1)
    b.server.signal('SIGTERM')
    const refused = async () => {
      const { status, json, headers } = await a.call<Uploaded>('POST', '/api/v3/files', formOf(Buffer.from('new')))
      return [status, json.code, headers.get('retry-after')]
    }
    await expect.poll(refused, PATIENCE).toEqual([503, 'UNAVAILABLE', '5'])
    expect((await b.call<{ status: string }>('GET', '/ready')).json.status).toBe('stopping')
    expect((await fetch(`${a.gateway}/ipfs/${cid}`)).status).toBe(200)
    begun.end()
    expect(await begun.answer).toEqual({ status: 201, code: null })
    await b.kill()
    await b.start()
    await expect.poll(async () => (await refused())[0], PATIENCE).toBeLessThan(300)
  })
})
