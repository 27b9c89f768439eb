import { describe, expect, test } from 'vitest'
import { SCOPES } from '../../../src/index.ts'
import { settled } from '../../../src/testing/index.ts'
import { auditPlans } from '../../contract/world.ts'
import { callApi } from '../../support/api-call.ts'
import { type TestEngine, withEngine } from '../../support/test-engine.ts'

const MINUTE_MS = 60_000
const UNDO_MS = 10 * MINUTE_MS

interface Job {
  id: string
  state: string
  done: number
  total: number
  restored: number
  failed: number
  failures: Array<{ uploadId: string; code: string }>
  undoUntil: string | null
}

class Client {
  readonly test: TestEngine
  readonly #key: string

  private constructor(test: TestEngine, key: string) {
    this.test = test
    this.#key = key
  }

  static async of(test: TestEngine, account = test.account): Promise<Client> {
    return new Client(test, (await test.engine.keys.create(account, { name: 'bulk', scopes: SCOPES })).secret)
  }

  async ask(method: string, path: string, body?: unknown) {
    const headers = { 'x-api-key': this.#key, 'content-type': 'application/json' }
    return callApi(
      this.test.engine,
      method,
      path,
      body === undefined ? headers : { ...headers, body: JSON.stringify(body) },
    )
  }

  async start(body: object): Promise<Job> {
    const { status, json } = await this.ask('POST', '/jobs', { action: 'delete', ...body })
    expect([status, json.code]).toEqual([202, undefined])
    return json.job
  }

  async ended({ id }: Job): Promise<Job> {
    for (;;) {
      const { job } = (await this.ask('GET', `/jobs/${id}`)).json as { job: Job }
      if (job.state === 'done' || job.state === 'undone') return job
      await new Promise(resolve => setImmediate(resolve))
    }
  }

  async undo(job: Job): Promise<Job> {
    const { status, json } = await this.ask('POST', `/jobs/${job.id}/undo`)
    expect([status, json.code]).toEqual([202, undefined])
    return this.ended(json.job)
  }

  async list(query = ''): Promise<{ uploads: Array<{ uploadId: string; cid: string }>; total: number }> {
    return (await this.test.engine
      .api({
        method: 'GET',
        path: '/api/v3/users/me/uploads',
        query,
        header: name => (name === 'x-api-key' ? this.#key : undefined),
        body: (async function* () {})(),
        signal: new AbortController().signal,
        remoteAddress: '127.0.0.1',
      })
      .then(({ body }) => JSON.parse(String(body)))) as never
  }
}

async function fill({ engine, account, clock }: TestEngine, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    await engine.pins.upload(Buffer.from(`content ${i}`), { account, name: `file ${i}`, meta: { n: String(i) } })
    if (i % 7 === 0) clock.advance(1)
  }
  clock.advance(1)
}

function allBefore({ clock }: TestEngine, expected: number): { filter: object } {
  return { filter: { createdBefore: new Date(clock.now()).toISOString(), expected } }
}

async function readable({ engine }: TestEngine, cid: string): Promise<number> {
  const response = await engine.gateway({
    method: 'GET',
    path: `/ipfs/${cid}`,
    query: '',
    header: () => undefined,
    body: (async function* () {})(),
    signal: new AbortController().signal,
    remoteAddress: '127.0.0.1',
  })
  if (typeof response.body === 'object' && response.body !== null && Symbol.asyncIterator in response.body) {
    for await (const _ of response.body as AsyncIterable<Uint8Array>);
  }
  return response.status
}

describe('a job that deletes all that match', () => {
  test('hides the records at once, and an undo restores the same records', async () => {
    await withEngine(async world => {
      await fill(world, 130)
      const client = await Client.of(world)
      const before = await client.list('limit=100')
      const [first] = before.uploads
      const usage = await world.engine.pins.usage(world.account)
      const job = await client.ended(await client.start(allBefore(world, 130)))
      expect(job).toMatchObject({ state: 'done', done: 130, total: 130, failed: 0 })
      expect(job.undoUntil).toBe(new Date(world.clock.now() + UNDO_MS).toISOString())
      expect((await client.list()).total).toBe(0)
      expect(await world.engine.pins.usage(world.account)).toEqual({ pins: 0, storedBytes: 0, keptBytes: 66_560 })
      expect(await readable(world, first?.cid ?? '')).toBe(404)
      expect((await world.engine.reconcile()).found).toEqual({})
      expect((await world.engine.collect({ graceSeconds: 0 })).blocks).toBe(0)
      expect(await client.undo(job)).toMatchObject({ state: 'undone', restored: 130, failed: 0 })
      expect(await client.list('limit=100')).toEqual(before)
      expect((await client.list('q=file 129')).total).toBe(1)
      expect(await world.engine.pins.usage(world.account)).toEqual(usage)
      expect(await readable(world, first?.cid ?? '')).toBe(200)
    })
  })

  test('selects by filter, and refuses another number of records than expected', async () => {
    await withEngine(async world => {
      await fill(world, 12)
      const client = await Client.of(world)
      const { filter } = allBefore(world, 11)
      const refused = await client.ask('POST', '/jobs', { action: 'delete', filter })
      expect([refused.status, refused.json.code]).toEqual([409, 'CONFLICT'])
      await world.engine.pins.upload(Buffer.from('later'), { account: world.account, name: 'file 1 later' })
      const job = await client.start({ filter: { ...filter, q: 'FILE 1', expected: 3 } })
      expect(await client.ended(job)).toMatchObject({ done: 3, total: 3 })
      expect((await client.list('q=file 1')).total).toBe(1)
      expect((await client.list()).total).toBe(10)
    })
  })

  test('collects the content after the undo period', async () => {
    await withEngine(async world => {
      await fill(world, 60)
      const client = await Client.of(world)
      const [first] = (await client.list()).uploads
      const job = await client.ended(await client.start(allBefore(world, 60)))
      world.clock.advance(UNDO_MS)
      const late = await client.ask('POST', `/jobs/${job.id}/undo`)
      expect([late.status, late.json.code]).toEqual([409, 'CONFLICT'])
      await settled(world.engine)
      expect((await world.engine.collect({ graceSeconds: 0 })).blocks).toBe(60)
      expect(await readable(world, first?.cid ?? '')).toBe(404)
    })
  })
})

describe('a job of ids', () => {
  test('deletes the given records, and reports the missing ones', async () => {
    await withEngine(async world => {
      await fill(world, 60)
      const client = await Client.of(world)
      const ids = (await client.list('limit=55')).uploads.map(({ uploadId }) => uploadId)
      const job = await client.ended(await client.start({ ids: ['none', ...ids, ids[0]] }))
      expect(job).toMatchObject({ total: 56, done: 55, failed: 1, failures: [{ uploadId: 'none', code: 'NOT_FOUND' }] })
      expect((await client.list()).total).toBe(5)
      const twice = await client.ask('POST', '/jobs', { action: 'delete', ids, filter: {} })
      expect([twice.status, twice.json.code]).toEqual([400, 'VALIDATION'])
    })
  })

  test('continues after a restart, and is undone while it runs', async () => {
    await withEngine(async world => {
      await fill(world, 400)
      const client = await Client.of(world)
      const before = await client.list('limit=100')
      const job = await client.start(allBefore(world, 400))
      await world.restart()
      expect(await client.ended(job)).toMatchObject({ done: 400, failed: 0 })
      await client.undo(job)
      expect(await client.list('limit=100')).toEqual(before)
      const undone = await client.undo(await client.start(allBefore(world, 400)))
      expect(undone.restored).toBe(undone.done)
      expect(await client.list('limit=100')).toEqual(before)
    })
  })

  test('cannot be undone if the records no longer fit into the plan', async () => {
    await withEngine(
      async world => {
        await fill(world, 3)
        const account = await world.newAccount('two')
        const client = await Client.of(world, account)
        for (const text of ['a', 'b']) await world.engine.pins.upload(Buffer.from(text), { account })
        world.clock.advance(1)
        const job = await client.ended(await client.start(allBefore(world, 2)))
        await world.engine.pins.upload(Buffer.from('c'), { account })
        const refused = await client.ask('POST', `/jobs/${job.id}/undo`)
        expect([refused.status, refused.json.code]).toEqual([403, 'QUOTA_EXCEEDED'])
        expect((await client.list()).total).toBe(1)
      },
      { plans: { two: { ...auditPlans['audit-small'], maxPins: 2 } } },
    )
  })

  test('restores a pin that waits for its content, under the same id', async () => {
    await withEngine(async world => {
      const cid = 'bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'
      const { account } = world
      const { record } = await world.engine.pins.pin({ account, cid, isAnew: true, customName: 'waits' })
      world.clock.advance(5)
      const client = await Client.of(world)
      const job = await client.ended(await client.start({ ids: [record.uploadId] }))
      expect(await world.engine.pins.usage(account)).toEqual({ pins: 0, storedBytes: 0, keptBytes: 0 })
      await client.undo(job)
      expect(await world.engine.pins.get({ account, uploadId: record.uploadId })).toEqual(record)
    })
  })

  test('requests no pin again that has expired meanwhile', async () => {
    await withEngine(async ({ engine, account, clock }) => {
      const cid = 'bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'
      const timelock = new Date(clock.now() + MINUTE_MS)
      const { record } = await engine.pins.pin({ account, cid, isAnew: true, timelock })
      const { uploadId } = record
      const { id } = await engine.jobs.start({ account, action: 'delete', ids: [uploadId] })
      await engine.jobs.untilEnded(id, { account })
      clock.advance(MINUTE_MS)
      await engine.jobs.undo(id, { account })
      const undone = await engine.jobs.untilEnded(id, { account })
      expect(undone).toMatchObject({ restored: 0, failed: 1, failures: [{ uploadId, code: 'EXPIRED' }] })
    })
  })

  test('belongs to its account, and is kept for an hour', async () => {
    await withEngine(async world => {
      await fill(world, 1)
      const client = await Client.of(world)
      const other = await Client.of(world, await world.newAccount())
      const job = await client.ended(await client.start(allBefore(world, 1)))
      for (const path of [`/jobs/${job.id}`, '/jobs/none']) expect((await other.ask('GET', path)).status).toBe(404)
      expect((await other.ask('POST', `/jobs/${job.id}/undo`)).status).toBe(404)
      world.clock.advance(61 * MINUTE_MS)
      await settled(world.engine)
      expect((await client.ask('GET', `/jobs/${job.id}`)).status).toBe(404)
    })
  })
})

describe('a job that edits many records', () => {
  const edit = async (client: Client, body: object): Promise<Job> => {
    const { status, json } = await client.ask('POST', '/jobs/edits', body)
    expect([status, json.code]).toEqual([202, undefined])
    return client.ended(json.job)
  }

  test('renames each record that matches once', async () => {
    await withEngine(async world => {
      await fill(world, 130)
      const client = await Client.of(world)
      const { filter } = allBefore(world, 130)
      const job = await edit(client, { action: 'rename', filter: { ...filter, q: 'file' }, rename: { prefix: 'my ' } })
      expect(job).toMatchObject({ state: 'done', done: 130, failed: 0, undoUntil: null })
      const names: string[] = []
      for await (const { name } of world.engine.pins.all({ account: world.account })) names.push(name ?? '')
      expect(names.toSorted()).toEqual(Array.from({ length: 130 }, (_, i) => `my file ${i}`).toSorted())
    })
  })

  test('keeps content until its new expiry', async () => {
    await withEngine(async world => {
      const { clock, engine, account } = world
      const timelock = new Date(clock.now() + MINUTE_MS).toISOString()
      const { record } = await engine.pins.upload(Buffer.from('kept'), { account, timelock })
      const client = await Client.of(world)
      const later = new Date(clock.now() + 3 * MINUTE_MS).toISOString()
      await edit(client, { action: 'timelock', ids: [record.uploadId], timelock: later })
      clock.advance(2 * MINUTE_MS)
      expect(await readable(world, record.cid)).toBe(200)
      clock.advance(2 * MINUTE_MS)
      expect(await readable(world, record.cid)).toBe(404)
    })
  })
})
