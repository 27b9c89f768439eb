import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CID } from 'multiformats/cid'
import * as raw from 'multiformats/codecs/raw'
import { identity } from 'multiformats/hashes/identity'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createEngine, type Engine, SCOPES } from '../../src/index.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { newDirectory } from '../support/new-database.ts'
import { hosts } from './hosts.ts'
import type { AuditClient } from './world.ts'

/** Yields files with distinct contents. */
async function* manyFiles(count: number) {
  for (let i = 0; i < count; i++) yield { kind: 'file' as const, path: `f${i}`, content: pseudoRandom(64, `file ${i}`) }
}

describe.each(hosts.map(host => ({ host, name: host.name })))('the owner’s routes, $name', ({ host }) => {
  let dataDir: string
  let engine: Engine
  let client: AuditClient
  let close: () => Promise<void>
  let owner: Record<string, string>
  let ownerId: string

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'holdfast-admin-'))
    engine = await createEngine({ dataDir: newDirectory(dataDir) })
    ;({ client, close } = await host.serve(engine))
    const { id } = await engine.accounts.create({ email: 'boss@example.org', plan: 'premium', role: 'owner' })
    ownerId = id
    owner = auth((await engine.keys.create(id, { name: 'all', scopes: SCOPES })).secret)
    await engine.pins.uploadDirectory(manyFiles(100), { account: id })
  })
  afterAll(async () => {
    await close()
    await engine.stop()
    await rm(dataDir, { recursive: true, force: true })
  })

  const auth = (secret: string) => ({ authorization: `Bearer ${secret}` })
  const rows = [
    ['GET', '/stats'],
    ['POST', '/gc'],
    ['POST', '/verify'],
    ['POST', '/reconcile'],
    ['GET', '/accounts'],
    ['GET', '/history'],
    ['GET', '/failures'],
    ['GET', '/peers'],
    ['GET', '/audit'], // feature: audit
    ['GET', '/jobs'], // feature: bulk
    ['GET', '/backups'],
    ['GET', '/deliveries'], // feature: webhooks
    ['GET', '/nodes'],
    ['GET', '/lost'],
    ['POST', '/accounts', { email: `made-by-${host.name.replaceAll(/\W/g, '')}@example.org`, plan: 'free' }],
  ] as const

  const accountRows = [
    ['PUT', '/accounts/:id/plan', { plan: 'premium' }],
    ['POST', '/accounts/:id/disable'],
    ['POST', '/accounts/:id/enable'],
    ['GET', '/accounts/:id/uploads'],
    ['GET', '/accounts/:id/sessions'],
    ['DELETE', '/accounts/:id/sessions'],
    ['DELETE', '/accounts/:id'],
  ] as const

  test.each([...rows, ...accountRows])(
    '%s %s is only for the owner with every scope',
    async (method, row, body?: object) => {
      const path = row.replace(
        ':id',
        (await engine.accounts.create({ email: `${method}${row.replaceAll(/[/:]/g, '.')}@example.net`, plan: 'free' }))
          .id,
      )
      const user = await engine.accounts.create({
        email: `${method}.${row.replaceAll(/[/:]/g, '.')}@example.org`,
        plan: 'unlimited',
      })
      const theirs = await engine.keys.create(user.id, { name: 'all', scopes: SCOPES })
      const lesser = await engine.keys.create(ownerId, {
        name: `${method} ${row.replaceAll('/', ' ')}`,
        scopes: SCOPES.slice(0, 3),
      })
      const ask = (headers: Record<string, string>) =>
        client.request(method, `/admin/v1${path}`, {
          headers: { ...headers, 'content-type': 'application/json' },
          body: body === undefined ? '' : JSON.stringify(body),
        })

      const nobody = await ask({})
      expect([nobody.status, nobody.json.code]).toEqual([401, 'INVALID_API_KEY'])
      const stranger = await ask(auth(theirs.secret))
      expect([stranger.status, stranger.json.code]).toEqual([403, 'OWNER_REQUIRED'])
      const partly = await ask(auth(lesser.secret))
      expect([partly.status, partly.json]).toMatchObject([403, { code: 'missing_scope', required: SCOPES[3] }])
      const whole = await ask(owner)
      expect(whole.status).toBe(row === '/accounts' && method === 'POST' ? 201 : 200)
      expect(Number(whole.header('x-ratelimit-remaining'))).toBeGreaterThan(0)
    },
  )

  test('a single node can neither retire, be forgotten nor be away', async () => {
    const ask = (path: string, body: object) =>
      client.request('POST', `/admin/v1/nodes/${path}`, {
        headers: { ...owner, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    for (const [path, body] of [
      ['a/retire', { to: 'b' }],
      ['a/forget', {}],
      ['away', { nodes: ['a'] }],
    ] as const) {
      const { status, json } = await ask(path, body)
      expect([path, status, json]).toMatchObject([path, 404, { code: 'NOT_FOUND', message: 'this node runs alone' }])
    }
  })

  test('a password link of an owner takes a session', async () => {
    const user = await engine.accounts.create({ email: `linked@${host.name}.example`, plan: 'free' })
    const ask = (id: string, headers: Record<string, string>) =>
      client.request('POST', `/admin/v1/accounts/${id}/password-link`, { headers })
    const made = await ask(user.id, owner)
    expect([made.status, Object.keys(made.json)]).toEqual([201, ['token', 'expiresAt']])
    const byKey = await ask(ownerId, owner)
    expect([byKey.status, byKey.json.code]).toEqual([403, 'SESSION_REQUIRED'])
    const { email } = await engine.accounts.get(ownerId)
    const password = 'a password of the owner'
    await engine.accounts.setPassword(ownerId, password)
    const login = await client.request('POST', '/api/v3/auth/login', {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email, password }),
    })
    const bySession = await ask(ownerId, auth(login.json.token))
    expect([bySession.status, bySession.json.token]).toEqual([201, expect.stringMatching(/^[0-9a-f]{64}$/)])
    for (const [id, headers, status] of [
      ['nobody', owner, 404],
      [user.id, {}, 401],
    ] as const) {
      expect((await ask(id, headers)).status).toBe(status)
    }
  })

  test('stats report the stored blocks', async () => {
    const { json } = await client.request('GET', '/admin/v1/stats', { headers: owner })
    // Free disk space may change between the two readings.
    const { disks, ...rest } = json
    const { disks: sameDisks, ...same } = JSON.parse(JSON.stringify(await engine.stats()))
    expect(rest).toEqual(same)
    expect(disks).toHaveLength(sameDisks.length)
    expect(json.blocks.durable.count).toBe(101)
    expect(json.databaseBytes).toBeGreaterThan(4_096)
  })

  test('gc removes dropped roots, then garbage of the given age', async () => {
    const { record } = await engine.pins.upload(pseudoRandom(5_000, host.name), { account: ownerId })
    await engine.pins.remove({ account: ownerId, cid: record.cid })
    const ask = async (body: string) => {
      const headers = { ...owner, 'content-type': 'application/json' }
      const { status, json } = await client.request('POST', '/admin/v1/gc', { headers, body })
      return { status, json }
    }
    for (const body of ['{"graceSeconds": -1}', '{"graceSeconds": "0"}']) {
      expect(await ask(body)).toMatchObject({
        status: 400,
        json: { code: 'VALIDATION', message: expect.stringContaining('graceSeconds') },
      })
    }
    // The root is removed at once, its block only after the grace period.
    expect(await ask('{"graceSeconds": 3600}')).toEqual({
      status: 200,
      json: { roots: 1, blocks: 0, bytes: 0, keptBytes: 0 },
    })
    expect(await ask('')).toEqual({ status: 200, json: { roots: 0, blocks: 0, bytes: 0, keptBytes: 0 } })
    expect(await ask('{"graceSeconds": 0}')).toEqual({
      status: 200,
      json: { roots: 0, blocks: 1, bytes: 5_000, keptBytes: 0 },
    })
  })

  test('reconcile returns its findings and rejects a malformed body', async () => {
    const headers = { ...owner, 'content-type': 'application/json' }
    const ask = (body: string) => client.request('POST', '/admin/v1/reconcile', { headers, body })
    const { json } = await ask('{"dryRun": true}')
    expect(json).toMatchObject({ dryRun: true, found: {}, findings: [], seen: { blocks: 101 } })
    const refused = await ask('{"force": "yes"}')
    expect([refused.status, refused.json.code]).toEqual([400, 'VALIDATION'])
    const lines = await client.request('POST', '/admin/v1/reconcile', {
      headers: { ...headers, accept: 'application/x-ndjson' },
    })
    expect(JSON.parse(lines.body.toString().trimEnd().split('\n').at(-1) ?? '')).toMatchObject({
      done: true,
      found: {},
    })
  })

  test('verify returns its outcome, or streams its progress by line', async () => {
    const plain = await client.request('POST', '/admin/v1/verify', { headers: owner })
    expect(plain.json).toEqual({ blocks: 101, bytes: expect.any(Number), damaged: [], damagedBlocks: 0 })
    const headers = { ...owner, accept: 'application/x-ndjson' }
    const streamed = await client.request('POST', '/admin/v1/verify', { headers })
    expect(streamed.header('content-type')).toBe('application/x-ndjson')
    const lines = streamed.body
      .toString()
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(lines.at(-1)).toEqual({ done: true, ...plain.json })
    expect(lines.length).toBeGreaterThan(1)
    expect(lines[0]).toEqual({ blocks: expect.any(Number), bytes: expect.any(Number), damaged: 0 })
  })

  test('accounts are paged and include their usage', async () => {
    const ask = async (query: string) =>
      (await client.request('GET', `/admin/v1/accounts${query}`, { headers: owner })).json
    const all = await ask('')
    expect(all.accounts).toHaveLength(all.total)
    const { owner: _, defaultVisibility: __, ...account } = await engine.accounts.get(ownerId)
    expect(all.accounts[0]).toEqual({
      ...account,
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      usage: await engine.pins.usage(ownerId),
      egress: { month: expect.stringMatching(/^\d{4}-\d\d$/), bytes: 0, domains: [] },
    })
    const paged = [await ask('?limit=2'), await ask('?limit=2&page=2')]
    expect(paged.flatMap(page => page.accounts)).toEqual(all.accounts.slice(0, 4))
    expect(paged[1].pagination).toEqual({ page: 2, limit: 2, total: all.total, totalPages: Math.ceil(all.total / 2) })
    expect(await ask('?page=9007199254740991')).toMatchObject({ accounts: [], total: all.total })
    expect(await ask('?limit=0')).toMatchObject({ code: 'VALIDATION' })
  })

  test('an account is disabled, enabled and deleted', async () => {
    const { id } = await engine.accounts.create({ email: 'managed@example.org', plan: 'unlimited' })
    const theirs = auth((await engine.keys.create(id, { name: 'all', scopes: SCOPES })).secret)
    const { record } = await engine.pins.upload(pseudoRandom(100, 'managed'), { account: id })
    const manage = async (method: string, path: string) => {
      const { status, json } = await client.request(method, `/admin/v1/accounts/${path}`, { headers: owner })
      return { status, json }
    }
    const me = async () => {
      const { status, json } = await client.request('GET', '/api/v3/users/me', { headers: theirs })
      return [status, json.code]
    }
    expect(await me()).toEqual([200, undefined])
    expect(await manage('POST', `${id}/disable`)).toMatchObject({ status: 200, json: { id, disabled: true } })
    expect(await me()).toEqual([403, 'account_disabled'])
    expect((await engine.pins.status({ account: id, cid: record.cid }))[0]?.record.status).toBe('pinned')
    expect(await manage('POST', `${id}/enable`)).toMatchObject({ status: 200, json: { id, disabled: false } })
    expect(await me()).toEqual([200, undefined])
    expect(await manage('DELETE', id)).toEqual({ status: 200, json: { id, deleted: true } })
    expect(await me()).toEqual([401, 'INVALID_API_KEY'])
    for (const [method, path] of accountRows.filter(([method]) => method !== 'PUT')) {
      const gone = path.replace('/accounts/:id', id)
      expect(await manage(method, gone)).toMatchObject({ status: 404, json: { code: 'NOT_FOUND' } })
    }
    for (const [method, path] of [
      ['POST', `${ownerId}/disable`],
      ['DELETE', ownerId],
    ] as const) {
      expect(await manage(method, path)).toMatchObject({ status: 409, json: { code: 'CONFLICT' } })
    }
  })

  test('an account is created with a key and moved to another plan', async () => {
    const ask = async (method: string, path: string, body: object) => {
      const headers = { ...owner, 'content-type': 'application/json' }
      const { status, json } = await client.request(method, `/admin/v1/accounts${path}`, {
        headers,
        body: JSON.stringify(body),
      })
      return { status, json }
    }
    const wish = { email: 'made@example.org', plan: 'free', name: 'Made' }
    const made = await ask('POST', '', wish)
    expect(made).toMatchObject({ status: 201, json: { ...wish, role: 'user', usage: { pins: 0, storedBytes: 0 } } })
    const { id, token } = made.json
    const me = (await client.request('GET', '/api/v3/users/me', { headers: auth(token) })).json
    expect(me).toMatchObject({ id, plan: 'free' })
    expect(await ask('POST', '', wish)).toMatchObject({ status: 409, json: { code: 'CONFLICT' } })
    for (const wrong of [{ plan: 'free' }, { ...wish, email: 'no address' }, { ...wish, plan: 'none' }]) {
      expect(await ask('POST', '', wrong)).toMatchObject({ status: 400, json: { code: 'VALIDATION' } })
    }
    expect(await ask('PUT', `/${id}/plan`, { plan: 'premium' })).toMatchObject({
      status: 200,
      json: { plan: 'premium' },
    })
    expect(await ask('PUT', `/${id}/plan`, { plan: 'none' })).toMatchObject({
      status: 400,
      json: { code: 'VALIDATION' },
    })
    expect(await ask('PUT', '/nobody/plan', { plan: 'free' })).toMatchObject({
      status: 404,
      json: { code: 'NOT_FOUND' },
    })
  })

  test('history has steps of one or fifteen minutes, and no others', async () => {
    const ask = async (query: string) =>
      (await client.request('GET', `/admin/v1/history${query}`, { headers: owner })).json
    const { stepSeconds, samples } = await ask('')
    expect(stepSeconds).toBe(60)
    expect(samples.at(-1)).toMatchObject({ at: expect.stringMatching(/:00\.000Z$/), requests: expect.any(Number) })
    expect((await ask('?step=900')).stepSeconds).toBe(900)
    expect(await ask('?step=1')).toMatchObject({ code: 'VALIDATION', message: expect.stringContaining('step') })
  })

  test('a wrong status of a takedown is refused with the possible ones', async () => {
    const headers = { ...owner, 'content-type': 'application/json' }
    const body = JSON.stringify({ cid: 'bafkqaaa', reason: 'a claim', status: 404 })
    const { status, json } = await client.request('POST', '/admin/v1/takedowns', { headers, body })
    expect({ status, json }).toMatchObject({ status: 400, json: { message: 'status must be 410 or 451' } })
  })

  test('a takedown of a long CID is accepted and lifted', async () => {
    const cid = CID.createV1(raw.code, identity.digest(new Uint8Array(2_000))).toString()
    const headers = { ...owner, 'content-type': 'application/json' }
    const body = JSON.stringify({ cid, reason: 'a claim' })
    expect((await client.request('POST', '/admin/v1/takedowns', { headers, body })).status).toBe(201)
    const lifted = await client.request('DELETE', `/admin/v1/takedowns/${cid}`, { headers: owner })
    expect(lifted.status).toBeLessThan(300)
  })

  test('peers and failures are listed', async () => {
    const peers = (await client.request('GET', '/admin/v1/peers', { headers: owner })).json
    expect(peers).toEqual({ peerId: null, addresses: [], peers: [], count: 0 })
    await engine.takedowns.add({ cid: 'bafkqaaa', reason: 'a claim' })
    await engine.takedowns.remove({ cid: 'bafkqaaa' })
    const { failures } = (await client.request('GET', '/admin/v1/failures', { headers: owner })).json
    expect(failures[0]).toMatchObject({ level: 'warn', message: 'takedown lifted', about: { cid: 'bafkqaaa' } })
  })

  test('uploads of an account are listed, private ones too', async () => {
    const { id } = await engine.accounts.create({ email: 'uploader@example.org', plan: 'free' })
    await engine.pins.upload(Buffer.from('open'), { account: id, name: 'open' })
    await engine.pins.upload(Buffer.from('closed'), { account: id, name: 'closed', visibility: 'private' })
    const ask = async (of: string, query = '') =>
      (await client.request('GET', `/admin/v1/accounts/${of}/uploads${query}`, { headers: owner })).json
    const { secret } = await engine.keys.create(id, { name: 'all', scopes: SCOPES })
    const own = await client.request('GET', '/api/v3/users/me/uploads', { headers: auth(secret) })
    const all = await ask(id)
    expect(all).toEqual(own.json)
    expect(all.uploads).toMatchObject([{ name: 'closed', visibility: 'private' }, { name: 'open' }])
    expect(await ask(id, '?limit=1&sort=name')).toMatchObject({ uploads: [{ name: 'closed' }], total: 2 })
    expect(await ask(id, '?sort=colour')).toMatchObject({ code: 'VALIDATION' })
    expect(await ask('nobody')).toMatchObject({ code: 'NOT_FOUND' })
  })

  test('sessions of an account are listed and ended', async () => {
    const password = 'a password to remember'
    const email = 'signed-in@example.org'
    const { id } = await engine.accounts.create({ email, plan: 'free', password })
    const login = { headers: { 'content-type': 'application/json' }, body: JSON.stringify({ email, password }) }
    const { token } = (await client.request('POST', '/api/v3/auth/login', login)).json
    const me = async () => (await client.request('GET', '/api/v3/users/me', { headers: auth(token) })).status
    expect(await me()).toBe(200)
    const ask = async (method: string) =>
      (await client.request(method, `/admin/v1/accounts/${id}/sessions`, { headers: owner })).json
    expect(await ask('GET')).toMatchObject({ sessions: [{ current: false }], next: null })
    expect(await ask('DELETE')).toEqual({ ended: 1 })
    expect(await me()).toBe(401)
    expect(await ask('GET')).toEqual({ sessions: [], next: null })
  })

  test('other paths get JSON errors; the OpenAPI document omits all of them', async () => {
    const wrong = await client.request('GET', '/admin/v1/gc', { headers: owner })
    expect([wrong.status, wrong.header('allow')]).toEqual([405, 'POST, OPTIONS'])
    const nothing = await client.request('GET', '/admin/v1/', { headers: owner })
    expect([nothing.status, nothing.json.code]).toEqual([404, 'NOT_FOUND'])
    const description = await client.request('GET', '/api/v3/openapi.json')
    expect(Object.keys(description.json.paths).filter(path => path.includes('admin'))).toEqual([])
  })
})

test('an engine that stops aborts a verification and waits for its end', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-admin-'))
  try {
    const engine = await createEngine({ dataDir: newDirectory(dataDir) })
    const { id } = await engine.accounts.create({ email: 'a@example.org', plan: 'unlimited' })
    await engine.pins.uploadDirectory(manyFiles(200), { account: id })
    const steps: number[] = []
    let stopped: Promise<void> | undefined
    const onProgress = ({ blocks }: { blocks: number }): void => {
      steps.push(blocks)
      stopped ??= engine.stop()
    }
    await expect(engine.verify({ onProgress })).rejects.toMatchObject({ code: 'ABORTED' })
    await stopped
    expect(steps).toHaveLength(1)
    await expect(engine.verify()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
})
