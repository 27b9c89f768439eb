import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { createServer } from '../../adapters/node-http/index.ts'
import { CONTRACT_SCOPES } from '../../src/access/principal.ts'
import { type Engine, SCOPES } from '../../src/index.ts'
import { createTestEngine, settled } from '../../src/testing/index.ts'
import { callApi } from '../support/api-call.ts'
import { collect, pseudoRandom } from '../support/bytes.ts'
import { planOf } from '../support/plans.ts'
import { withEngine } from '../support/test-engine.ts'
import { beginReading, threadReaders } from '../support/thread-readers.ts'
import { absentLike, CANARY } from './matrix.ts'

const MIB = 1024 ** 2

/** Asks the gateway of an engine as a stranger. */
async function statusOf(engine: Engine, path: string): Promise<number> {
  const server = createServer({ api: engine.ownGateway, gateway: engine.ownGateway })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  try {
    const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/ipfs/${path}`)
    await answer.arrayBuffer()
    return answer.status
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

const textOf = async (engine: Engine, address: { cid: string; path?: string; account?: string }): Promise<string> => {
  const { stream } = await engine.content.read(address)
  return Buffer.from(await collect(stream)).toString('latin1')
}

describe('an account', () => {
  test('reads its private content, and nobody else does', async () => {
    await withEngine(async ({ engine, account, newAccount }) => {
      const other = await newAccount()
      const entries = [{ kind: 'file', path: 'a/b.txt', content: CANARY }] as const
      const { record, files } = await engine.pins.uploadDirectory(entries, { account, visibility: 'private' })
      expect(record.visibility).toBe('private')
      const file = files[0]?.cid ?? ''
      expect(await textOf(engine, { cid: record.cid, path: 'a/b.txt', account })).toBe(CANARY)
      expect(await textOf(engine, { cid: file, account })).toBe(CANARY)
      for (const cid of [record.cid, file]) {
        const code = (work: Promise<unknown>) => expect(work).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
        await code(textOf(engine, { cid, path: cid === file ? '' : 'a/b.txt' }))
        await code(textOf(engine, { cid, path: cid === file ? '' : 'a/b.txt', account: other }))
      }
      await engine.takedowns.add({ cid: file, reason: 'x' })
      await expect(textOf(engine, { cid: record.cid, path: 'a/b.txt', account })).rejects.toMatchObject({
        code: 'GONE',
      })
    })
  })

  test('has a default visibility for records that name none', async () => {
    await withEngine(async ({ engine, account }) => {
      const { secret } = await engine.keys.create(account, { name: 'all', scopes: SCOPES })
      const set = (defaultVisibility: string) => {
        const headers = { authorization: `Bearer ${secret}`, body: JSON.stringify({ defaultVisibility }) }
        return callApi(engine, 'PUT', '/users/me', headers)
      }
      expect((await set('secret')).json.message).toBe('defaultVisibility must be "public" or "private"')
      expect((await set('private')).json).toMatchObject({ defaultVisibility: 'private' })
      const { secret: owners } = await engine.keys.create(account, { name: 'four', scopes: CONTRACT_SCOPES })
      const headers = { authorization: `Bearer ${owners}`, body: JSON.stringify({ defaultVisibility: 'public' }) }
      expect((await callApi(engine, 'PUT', '/users/me', headers)).json).toMatchObject({ code: 'missing_scope' })
      const { record } = await engine.pins.upload('by default', { account })
      expect([record.visibility, await statusOf(engine, record.cid)]).toEqual(['private', 404])
      const { record: open } = await engine.pins.upload('by default', { account, visibility: 'public' })
      expect([open.visibility, open.cid, await statusOf(engine, open.cid)]).toEqual(['public', record.cid, 200])
      await expect(engine.pins.upload('x', { account, visibility: 'secret' })).rejects.toMatchObject({
        code: 'VALIDATION',
        message: 'visibility must be "public" or "private"',
      })
    })
  })
})

describe('an upload of private content', () => {
  test('tells whether another record keeps the content public', async () => {
    await withEngine(async ({ engine, account, newAccount }) => {
      const upload = (visibility: string, of = account) => engine.pins.upload('twice', { account: of, visibility })
      expect((await upload('private')).record.publicElsewhere).toBe(undefined)
      expect((await upload('public', await newAccount())).record.publicElsewhere).toBe(undefined)
      expect(await upload('private')).toMatchObject({ created: false, record: { publicElsewhere: true } })
    })
  })
})

describe('a change of the visibility', () => {
  test('leaves no work that waits for time to pass', async () => {
    await using engine = await createTestEngine()
    const { cid, uploadId } = (await engine.pins.upload('public at first')).record
    expect(await statusOf(engine, cid)).toBe(200)
    await engine.pins.setVisibility({ uploadId, visibility: 'private' })
    await settled(engine, { withinMs: 20_000 })
    expect(await statusOf(engine, cid)).toBe(404)
  })

  test('by the API needs the scopes of its direction', async () => {
    await withEngine(async ({ engine, account, newAccount }) => {
      const call = async (scopes: string[], uploadId: string, visibility: string, of = account) => {
        const { secret } = await engine.keys.create(of, { name: `k${Math.random()}`, scopes })
        const headers = { authorization: `Bearer ${secret}`, body: JSON.stringify({ visibility }) }
        const { status, json } = await callApi(engine, 'PUT', `/files/visibility/${uploadId}`, headers)
        return [status, json.visibility ?? json.code]
      }
      const { record } = await engine.pins.upload('by the API', { account })
      const { uploadId } = record
      expect(await call(['files:read', 'share:write'], uploadId, 'private')).toEqual([403, 'missing_scope'])
      expect(await call(['files:write'], uploadId, 'private')).toEqual([200, 'private'])
      expect(await call(['files:write', 'files:read'], uploadId, 'public')).toEqual([403, 'missing_scope'])
      expect(await call(['files:write', 'share:write'], uploadId, 'public')).toEqual([403, 'missing_scope'])
      const all = ['files:write', 'files:read', 'share:write']
      expect(await call(all, uploadId, 'secret')).toEqual([400, 'VALIDATION'])
      expect(await call(all, uploadId, 'public', await newAccount())).toEqual([404, 'NOT_FOUND'])
      expect(await call(all, uploadId, 'public')).toEqual([200, 'public'])
    })
  })

  test('applies to a cluster that the plan of the account has lost', async () => {
    const plans = { less: planOf({ clusters: ['cl0-global'] }), more: planOf({ clusters: ['cl0-global', 'cl1-eu'] }) }
    await withEngine(
      async ({ engine, newAccount }) => {
        const account = await newAccount('more')
        const { record } = await engine.pins.upload('somewhere', { account, cluster: 'cl1-eu' })
        await engine.accounts.setPlan(account, 'less')
        const { uploadId } = record
        expect(await engine.pins.setVisibility({ account, uploadId, visibility: 'private' })).toMatchObject({
          visibility: 'private',
        })
      },
      { plans },
    )
  })

  test('applies to many records by a job, which names the others', async () => {
    await withEngine(async ({ engine, account }) => {
      const cids: string[] = []
      for (let i = 0; i < 120; i++) cids.push((await engine.pins.upload(`many ${i}`, { account })).record.cid)
      const queued = await engine.pins.pin({ account, cid: absentLike(cids[0] ?? ''), isAnew: true })
      const secretOf = async (name: string, ...scopes: string[]) =>
        (await engine.keys.create(account, { name, scopes })).secret
      const start = async (secret: string, visibility: string) => {
        const filter = { createdBefore: '2999-01-01T00:00:00Z', expected: 121 }
        const body = JSON.stringify({ action: 'visibility', visibility, filter })
        return callApi(engine, 'POST', '/jobs/edits', { authorization: `Bearer ${secret}`, body })
      }
      const writer = await secretOf('writer', 'files:write')
      expect((await start(writer, 'public')).json.code).toBe('missing_scope')
      const { json } = await start(writer, 'private')
      const reader = { authorization: `Bearer ${await secretOf('reader', 'files:read')}` }
      const ended = async () => (await callApi(engine, 'GET', `/jobs/${json.job.id}`, reader)).json.job
      await expect.poll(async () => (await ended()).state).toBe('done')
      const failures = [{ uploadId: queued.record.uploadId, code: 'CONFLICT' }]
      expect(await ended()).toMatchObject({ done: 120, failed: 1, failures })
      for (const cid of cids.slice(0, 3)) expect(await statusOf(engine, cid)).toBe(404)
      const { uploadId } = queued.record
      expect(await engine.pins.get({ account, uploadId })).toMatchObject({ status: 'queued', visibility: 'public' })
    })
  })

  test('hides a record from strangers, and shows it again', async () => {
    await withEngine(async ({ engine, account, newAccount }) => {
      const other = await newAccount()
      const { record } = await engine.pins.upload(pseudoRandom(2 * MIB, 'mine'), { account })
      const { record: theirs } = await engine.pins.upload(pseudoRandom(2 * MIB, 'mine'), { account: other })
      const change = (visibility: 'public' | 'private') =>
        engine.pins.setVisibility({ account, uploadId: record.uploadId, visibility })
      expect(await change('private')).toMatchObject({
        visibility: 'private',
        uploadId: record.uploadId,
        publicElsewhere: true,
        pending: [],
      })
      expect(await statusOf(engine, record.cid)).toBe(200)
      await engine.pins.discard({ account: other, uploadId: theirs.uploadId })
      expect(await statusOf(engine, record.cid)).toBe(404)
      expect((await change('private')).publicElsewhere).toBe(undefined)
      expect(await change('public')).toMatchObject({ visibility: 'public' })
      expect(await statusOf(engine, record.cid)).toBe(200)
      expect(await change('private')).toMatchObject({ visibility: 'private' })
      expect(await statusOf(engine, record.cid)).toBe(404)
      const wrong = { account: other, uploadId: record.uploadId, visibility: 'public' } as const
      await expect(engine.pins.setVisibility(wrong)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    })
  })

  test('ends responses to strangers that have begun', async () => {
    await withEngine(async ({ engine, account }) => {
      const readers = await threadReaders(engine)
      try {
        const { record } = await engine.pins.upload(pseudoRandom(24 * MIB, 'begun'), { account })
        const begun = await Promise.all([1, 2, 3].map(() => beginReading(readers, `/ipfs/${record.cid}`)))
        await engine.pins.setVisibility({ account, uploadId: record.uploadId, visibility: 'private' })
        for (const answer of begun) await expect(answer.toArray()).rejects.toThrow()
        expect((await readers.get(`/ipfs/${record.cid}`)).status).toBe(404)
      } finally {
        await readers.stop()
      }
    })
  })
})
