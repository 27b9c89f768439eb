import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { caller, curl, go, php, python } from './dialects.ts'
import { type Customer, openService, type Service } from './service.ts'

let service: Service
let customer: Customer

beforeAll(async () => {
  service = await openService()
  customer = await service.customer()
})
afterAll(() => service.close())

/** Returns the trailing slash that three of the clients send with some paths. */
const slashed = (client: { name: string }): string => (client === curl ? '' : '/')

describe.each([python, php, go, curl].map(dialect => ({ dialect, name: dialect.name })))('$name', ({ dialect }) => {
  let call: ReturnType<typeof caller>
  let open: ReturnType<typeof caller>

  beforeAll(() => {
    call = caller(dialect, service.port, customer.secret)
    open = caller(dialect, service.port, null)
  })

  test('uploads a file with fields before or after it', async () => {
    const file = { name: 'file', filename: 'né "a".txt', content: `of ${dialect.name}` }
    const cl = { name: 'cl', content: 'cl1-na' }
    for (const form of [
      [file, cl],
      [cl, file],
    ]) {
      const answer = await call('POST', `/files${slashed(dialect)}`, { form })
      expect([200, 201]).toContain(answer.status)
      expect(answer.json).toMatchObject({ clusterId: 'cl1-na', expiresAt: null, name: 'né "a".txt', status: 'pinned' })
      const content = await fetch(service.gateway + answer.json.cid)
      expect(await content.text()).toBe(`of ${dialect.name}`)
    }
  })

  test('lists with page and limit, and reads total and pagination', async () => {
    const answer = await call('GET', '/users/me/uploads?page=1&limit=20')
    expect(answer.status).toBe(200)
    const { uploads, total, pagination } = answer.json
    expect([uploads.length, pagination.total, pagination.limit]).toEqual([total, total, 20])
    const beyond = await call('GET', '/users/me/uploads?page=1&limit=1000000')
    expect([beyond.status, beyond.json.pagination.limit]).toEqual([200, 1_000])
  })

  test('pins with and without options, and removes', async () => {
    const content = Buffer.from(`pinned by ${dialect.name}`)
    const { record } = await service.engine.pins.upload(content, { account: (await service.customer()).id })
    const bare = await call('POST', `/files/pin/${record.cid}`, { json: {} })
    expect(bare.json).toMatchObject({ cid: record.cid, clusterId: 'cl0-global', expiresAt: null, pinned: true })
    const json = { originalName: 'o.bin', customName: 'c', cl: 'cl2-es' }
    const named = await call('POST', `/files/pin/${record.cid}`, { json })
    expect(named.json).toMatchObject({ originalName: 'o.bin', customName: 'c', clusterId: 'cl2-es' })
    const nothing = await call('POST', `/files/pin/${record.cid}`)
    expect([nothing.status, nothing.json.uploadId]).toEqual([200, bare.json.uploadId])

    const removed = await call('DELETE', `/files/remove/${record.cid}`)
    expect([removed.status, removed.json]).toEqual([200, { cid: record.cid, removed: true, success: true }])
    expect((await call('DELETE', `/files/remove/${record.cid}`)).json.code).toBe('PIN_NOT_FOUND')
  })

  test('gets INVALID_CID for an address in place of a CID', async () => {
    for (const path of ['/files/pin/ipfs://bafy', '/files/pin//ipfs/bafy', '/files/pin/%2Fipfs%2Fbafy']) {
      const answer = await call('POST', path, { json: {} })
      expect([answer.status, answer.json.code]).toEqual([400, 'INVALID_CID'])
    }
  })

  test('gets INVALID_PATH for a forbidden path of the server', async () => {
    const answer = await call('POST', '/files/directory', { json: { dirPath: '../..', cl: '', timelock: null } })
    expect([answer.status, answer.json.code]).toEqual([400, 'INVALID_PATH'])
  })

  test('reads status and allocations of a cluster', async () => {
    const form = [{ name: 'file', filename: 'f', content: `allocated by ${dialect.name}` }]
    const { cid } = (await call('POST', '/files/', { form })).json
    const status = await call('GET', `/status/${cid}?cl=cl0-global`)
    expect(status.json).toMatchObject({ cid, status: 'pinned', clusterId: 'cl0-global' })
    const held = await call('GET', `/allocations/${cid}?cl=cl0-global`)
    expect(held.json).toMatchObject({ cid, replication_factor: 1 })
    expect((await call('GET', `/status/${cid}?cl=cl1-eu`)).status).toBe(404)
  })

  test('creates, lists and revokes keys, with its own encoding of names', async () => {
    const name = `${dialect.name} (1)`
    const json = { name, label: 'cli-access', permissions: ['admin'], expiresInDays: 30, totpCode: '123456' }
    const made = await call('POST', '/tokens/generate', { json })
    expect(made.status).toBe(201)
    expect(made.json).toMatchObject({ name, label: 'cli-access', token: expect.any(String) })
    expect(made.json.scopes).toContain('files:delete')
    const listed = await call('GET', '/tokens/list')
    expect(listed.json).toContainEqual(expect.objectContaining({ name, permissions: ['read', 'write', 'admin'] }))
    const body = dialect === php ? {} : { json: { totpCode: '123456' } }
    const revoked = await call('DELETE', `/tokens/revoke/${encodeURIComponent(name)}`, body)
    expect([revoked.status, revoked.json.revoked]).toEqual([200, true])
    expect((await call('DELETE', `/tokens/revoke/${encodeURIComponent(name)}`)).status).toBe(404)
  })

  test('reads public routes without a credential', async () => {
    expect((await open('GET', '/health')).json).toEqual({ status: 'ok' })
    expect((await open('GET', `/peers${slashed(dialect)}`)).json).toEqual({ peers: [], count: 0 })
    expect((await open('GET', `/plans${slashed(dialect)}`)).json.length).toBeGreaterThanOrEqual(3)
    expect((await open('GET', '')).json.name).toBe('holdfast')
  })

  test('reads code, required and retryAfter of errors', async () => {
    const unknown = await caller(dialect, service.port, 'wrong')('GET', '/users/me')
    expect([unknown.status, unknown.json.code]).toEqual([401, 'INVALID_API_KEY'])
    expect(unknown.headers.get('www-authenticate')).toBe('Bearer')
    const bare = await caller(
      dialect,
      service.port,
      await customer.key(dialect.name, ['cluster:read']),
    )('DELETE', '/files/remove/bafy')
    expect(bare.json).toMatchObject({ error: 'Forbidden', code: 'missing_scope', required: 'files:delete' })
    const limited = caller(dialect, service.port, (await service.customer('one-request')).secret)
    expect((await limited('GET', '/users/me')).headers.get('x-ratelimit-remaining')).toBe('0')
    const refused = await limited('GET', '/users/me')
    expect(refused.status).toBe(429)
    expect(refused.json.retryAfter).toBe(Number(refused.headers.get('retry-after')))
    expect(refused.json).toMatchObject({ limit: 1, remaining: 0, resetTime: expect.stringMatching(/Z$/) })
  })
})
