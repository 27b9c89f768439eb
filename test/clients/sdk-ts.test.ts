import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SdkError, sdk } from './sdk.ts'
import { type Customer, openService, type Service } from './service.ts'

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

let service: Service
let customer: Customer
let call: ReturnType<typeof sdk>
let tomorrow: string

beforeAll(async () => {
  service = await openService()
  tomorrow = new Date(service.clock.now() + 86_400_000).toISOString()
  customer = await service.customer()
  call = sdk(service.base, customer.secret)
})
afterAll(() => service.close())

/** Returns a form with `file` first and other fields after it. */
function fileForm(file: Blob, fields: Record<string, string> = {}): FormData {
  const form = new FormData()
  form.append('file', file)
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  return form
}

async function uploaded(content: string): Promise<string> {
  return (await call('POST', '/files', { form: fileForm(new Blob([content])) })).cid
}

async function refusal(promise: Promise<unknown>): Promise<SdkError> {
  const error = await promise.then(
    () => undefined,
    thrown => thrown,
  )
  expect(error).toBeInstanceOf(SdkError)
  return error as SdkError
}

describe('files of the TypeScript and JavaScript clients', () => {
  test('uploadFile: sends file, cl and timelock in this order', async () => {
    const form = fileForm(new File(['a file'], 'né "a".txt'), { cl: 'cl1-eu', timelock: tomorrow })
    const made = await call('POST', '/files', { form })
    expect(made).toMatchObject({ clusterId: 'cl1-eu', expiresAt: tomorrow, status: 'pinned', name: 'né "a".txt' })
    expect(made.cid).toMatch(/^bafkrei/)
    expect(made.uploadId).toMatch(/^[\w-]+$/)
    expect(await (await fetch(service.gateway + made.cid.trim())).text()).toBe('a file')
  })

  test('uploadFile: accepts an empty blob, named blob', async () => {
    const made = await call('POST', '/files', { form: fileForm(new Blob([])) })
    expect(made).toMatchObject({ name: 'blob', size: 0, expiresAt: null })
  })

  test('uploadDirectoryDag: sends fields first, then files whose names are paths', async () => {
    const form = new FormData()
    form.append('dirName', 'holiday')
    form.append('cl', 'cl0-global')
    form.append('files', new Blob(['one']), '1.png')
    form.append('files', new Blob(['two']), 'sub/2.png')
    const made = await call('POST', '/files/directory-dag', { form })
    expect(made).toMatchObject({
      ...{ message: expect.any(String), type: 'directory', filename: 'holiday', total_files: 2 },
      ...{ total_size: 6, size: 6, dagCid: made.cid, expiresAt: null, clusterId: 'cl0-global' },
    })
    expect(made.files.map(({ path, filename, size }: Record<string, unknown>) => [path, filename, size])).toEqual([
      ['1.png', '1.png', 3],
      ['sub/2.png', '2.png', 3],
    ])
    expect(await (await fetch(`${service.gateway}${made.cid}/1.png`)).text()).toBe('one')
    const detail = await call('GET', `/users/me/uploads/dag/${encodeURIComponent(made.cid)}`)
    expect(detail.files).toEqual(made.files)
  })

  test('uploadDirectoryDag 3.1.0: sends paths and contents by index', async () => {
    const form = new FormData()
    form.append('files[0][path]', 'a/b.txt')
    form.append('files[0][content]', new Blob(['blob content']))
    form.append('files[1][path]', 'c.txt')
    form.append('files[1][content]', 'text content')
    const { dagCid, files } = await call('POST', '/files/directory-dag', { form })
    expect(files.map(({ path }: { path: string }) => path).toSorted()).toEqual(['a/b.txt', 'c.txt'])
    expect(await (await fetch(`${service.gateway}${dagCid}/a/b.txt`)).text()).toBe('blob content')
    expect(await (await fetch(`${service.gateway}${dagCid}/c.txt`)).text()).toBe('text content')
  })

  test('uploadDirectory: gets INVALID_PATH for a server path outside', async () => {
    const error = await refusal(call('POST', '/files/directory', { json: { dirPath: '/etc' } }))
    expect([error.status, error.code]).toEqual([400, 'INVALID_PATH'])
  })

  test('pinCid: sends an empty object without options', async () => {
    const cid = await uploaded('to be pinned')
    expect(await call('POST', `/files/pin/${cid}`, { json: {} })).toMatchObject({ cid, pinned: true, customName: null })
    const named = await call('POST', `/files/pin/${cid}`, { json: { customName: 'mine', cl: 'cl2-de' } })
    expect(named).toMatchObject({ pinned: true, customName: 'mine', clusterId: 'cl2-de', expiresAt: null })
    const older = await call('POST', `/files/pin/${cid}`, { json: { filename: 'of version 2' } })
    expect(older.customName).toBe('of version 2')
  })

  test('pinCid: gets INVALID_CID for pasted addresses and paths', async () => {
    const cid = await uploaded('to be pasted')
    for (const pasted of [`ipfs://${cid}`, `/ipfs/${cid}`, `https://gateway.example/ipfs/${cid}`]) {
      const error = await refusal(call('POST', `/files/pin/${pasted}`, { json: {} }))
      expect([error.status, error.code]).toEqual([400, 'INVALID_CID'])
    }
  })

  test('removeFile: sends no body and reads JSON', async () => {
    const cid = await uploaded('to be removed')
    expect(await call('DELETE', `/files/remove/${cid}`)).toMatchObject({ cid, removed: true })
    expect((await refusal(call('DELETE', `/files/remove/${cid}`))).status).toBe(404)
  })

  test('renameFile: reads the new name', async () => {
    const made = await call('POST', '/files', { form: fileForm(new Blob(['to be renamed'])) })
    const renamed = await call('PUT', `/files/rename/${made.uploadId}`, { json: { newName: 'new.txt' } })
    expect(renamed).toEqual({ updated: true, newName: 'new.txt' })
  })
})

describe('lists and account of the TypeScript and JavaScript clients', () => {
  test('listUploads: sends page 1, limit 10 and the filters', async () => {
    const fresh = sdk(service.base, (await service.customer()).secret)
    const made = await fresh('POST', '/files', { form: fileForm(new Blob(['kept']), { timelock: tomorrow }) })
    await fresh('POST', '/files', { form: fileForm(new Blob(['listed'])) })
    const list = await fresh('GET', '/users/me/uploads?page=1&limit=10')
    expect(list).toMatchObject({ total: 2, pagination: { page: 1, limit: 10, total: 2, totalPages: 1 } })
    for (const item of list.uploads) {
      expect(item).toMatchObject({ cid: expect.any(String), name: 'blob', size: expect.any(Number) })
      expect(item.uploadedAt).toMatch(ISO)
      expect(item.uploadedAt).toBe(item.createdAt)
    }
    const expiring = await fresh('GET', '/users/me/uploads?page=1&limit=10&hasExpiration=true')
    expect(expiring.uploads.map(({ cid }: { cid: string }) => cid)).toEqual([made.cid])
    expect((await fresh('GET', `/users/me/uploads?page=1&limit=10&cid=${made.cid}`)).total).toBe(1)
    expect((await fresh('GET', `/users/me/uploads?page=1&limit=10&parentCid=${made.cid}`)).total).toBe(0)
  })

  test('getMe, clusters and plans: read the expected fields', async () => {
    expect(await call('GET', '/users/me')).toMatchObject({ id: customer.id, email: customer.email, plan: 'unlimited' })
    const clusters = await call('GET', '/users/me/clusters')
    expect(Array.isArray(clusters)).toBe(true)
    expect(clusters[0]).toMatchObject({ id: 'cl0-global', clusterId: 'cl0-global', label: 'Primary', region: 'Global' })
    expect((await call('GET', '/plans/my-plan')).id).toBe('unlimited')
    expect(await call('GET', '/users/me/plans')).toHaveLength(1)
    expect(await call('GET', '/users/me/preferences')).toEqual({ language: null, country: null })
    expect(await call('GET', '/users/me/referrals')).toMatchObject({ referrals: [] })
    const open = sdk(service.base, null)
    for (const path of ['/plans', '/locales/languages', '/locales/countries']) {
      expect(Array.isArray(await open('GET', path))).toBe(true)
    }
  })

  test('missing features give errors that the clients can read', async () => {
    const change = await refusal(call('PUT', '/plans/change', { json: { planId: 'premium' } }))
    expect([change.status, change.code]).toEqual([403, 'NOT_OFFERED'])
    const json = { language: 'es', country: 'ES' }
    expect((await refusal(call('PUT', '/users/me/preferences', { json }))).status).toBe(403)
    for (const provider of ['multisafepay', 'coingate']) {
      const payment = call('POST', `/payments/${provider}/create`, { json: { planId: 'premium' } })
      expect((await refusal(payment)).status).toBe(404)
      expect((await refusal(call('GET', `/payments/${provider}/status/1`))).status).toBe(404)
      expect((await refusal(call('DELETE', `/payments/${provider}/cancel/1`))).status).toBe(404)
    }
  })

  test('tokens: 0 days mean no expiry, names are encoded, DELETE has bodies', async () => {
    const json = { name: 'my key', scopes: ['files:read'], expiresInDays: 0, ipAllowlist: [] }
    const made = await call('POST', '/tokens/generate', { json })
    expect(made).toMatchObject({ name: 'my key', expiresAt: null, scopes: ['files:read'], token: expect.any(String) })
    expect((await sdk(service.base, made.token)('GET', '/users/me/uploads?page=1&limit=10')).pagination.limit).toBe(10)
    const duplicate = await refusal(call('POST', '/tokens/generate', { json }))
    expect([duplicate.status, duplicate.code]).toEqual([409, 'CONFLICT'])
    const listed = await call('GET', '/tokens/list')
    expect(listed.map(({ name }: { name: string }) => name).toSorted()).toEqual(['main', 'my key'])
    expect(JSON.stringify(listed)).not.toContain(made.token)

    await call('DELETE', `/tokens/revoke/${encodeURIComponent('my key')}`)
    expect((await refusal(sdk(service.base, made.token)('GET', '/users/me'))).status).toBe(401)
    await call('POST', '/tokens/generate', { json: { name: 'second', permissions: ['read'] } })
    await call('DELETE', '/tokens/revoke/second', { json: { totpCode: '123456' } })
    const slash = await refusal(call('DELETE', `/tokens/revoke/${encodeURIComponent('a/b')}`))
    expect([slash.status, slash.code]).toEqual([404, 'NOT_FOUND'])
  })

  test('status and both paths of allocations: read the expected fields', async () => {
    const cid = await uploaded('allocated')
    const status = await call('GET', `/status/${cid}`)
    expect(status).toMatchObject({ cid, status: 'pinned', size: 9, peers: expect.any(Array) })
    expect(status.allocations[0]).toMatchObject({ peer: 'cl0-global', status: 'pinned' })
    expect(status.allocations[0].timestamp).toMatch(ISO)
    for (const path of ['/allocations/', '/status/allocations/']) {
      expect(await call('GET', path + cid)).toMatchObject({ cid, replication_factor: 1, nodes: [expect.any(Object)] })
    }
  })
})

describe('errors of the TypeScript and JavaScript clients', () => {
  test('401, 403 with the missing scope, and 429 with whole seconds', async () => {
    const unknown = await refusal(sdk(service.base, 'no-such-key')('GET', '/users/me'))
    expect([unknown.status, unknown.code]).toEqual([401, 'INVALID_API_KEY'])
    const reader = sdk(service.base, await customer.key('reader', ['files:read']))
    const scope = await refusal(reader('POST', '/files', { form: fileForm(new Blob(['x'])) }))
    expect([scope.status, scope.code, scope.required]).toEqual([403, 'missing_scope', 'files:write'])
    const limited = sdk(service.base, (await service.customer('one-request')).secret)
    await limited('GET', '/users/me')
    const rate = await refusal(limited('GET', '/users/me'))
    expect([rate.status, rate.code]).toEqual([429, 'RATE_LIMIT'])
    expect(Number.isInteger(rate.retryAfter)).toBe(true)
    expect(rate.retryAfter).toBeGreaterThanOrEqual(1)
  })

  test('413 and 404 are JSON: a large file, an unknown route', async () => {
    const limited = sdk(service.base, (await service.customer('one-request')).secret)
    const large = await refusal(limited('POST', '/files', { form: fileForm(new Blob(['x'.repeat(100_000)])) }))
    expect([large.status, large.code]).toEqual([413, 'FILE_TOO_LARGE'])
    expect((await refusal(call('GET', '/no/such/route', { web: true }))).code).toBe('NOT_FOUND')
  })
})
