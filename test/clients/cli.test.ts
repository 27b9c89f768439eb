import { afterAll, beforeAll, expect, test } from 'vitest'
import { sdk } from './sdk.ts'
import { type Customer, openService, type Service } from './service.ts'

let service: Service
let customer: Customer
let call: ReturnType<typeof sdk>

beforeAll(async () => {
  service = await openService()
  customer = await service.customer('premium')
  call = sdk(service.base, customer.secret)
})
afterAll(() => service.close())

/** The listing loop of the command line, which asks for pages until it has `pagination.total` rows. */
async function listAll(as: ReturnType<typeof sdk>): Promise<Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = []
  for (let page = 1; ; page++) {
    const { uploads, pagination } = await as('GET', `/users/me/uploads?page=${page}&limit=100`)
    rows.push(...uploads)
    const total = pagination?.total ?? uploads.length
    if (rows.length >= total) return rows
    if (page > 100) throw new Error('the loop would never end')
  }
}

test('files: the loop ends with every row once, whatever the page size', async () => {
  const cids = new Set<string>()
  for (let index = 0; index < 250; index++) {
    const content = new TextEncoder().encode(`row ${index}`)
    const { record } = await service.engine.pins.upload(content, { account: customer.id })
    cids.add(record.cid)
  }
  const rows = await listAll(call)
  expect(rows).toHaveLength(250)
  expect(new Set(rows.map(({ cid }) => cid))).toEqual(cids)
  for (const row of rows) {
    expect(row).toMatchObject({ size: expect.any(Number), clusterId: 'cl0-global', uploadedAt: expect.any(String) })
  }

  const small = await service.customer('free')
  for (let index = 0; index < 120; index++) {
    await service.engine.pins.upload(new TextEncoder().encode(`row ${index}`), { account: small.id })
  }
  expect(await listAll(sdk(service.base, small.secret))).toHaveLength(120)
})

test('files: an account without uploads ends the loop at once', async () => {
  expect(await listAll(sdk(service.base, (await service.customer()).secret))).toEqual([])
})

test('upload: sends a nameless blob and reads only the cid', async () => {
  const form = new FormData()
  form.append('file', new Blob(['from the command line']))
  const { cid } = await call('POST', '/files', { form })
  expect(await (await fetch(service.gateway + cid)).text()).toBe('from the command line')
})

test('whoami: reads a name, a plan as text, a number of clusters', async () => {
  const me = await call('GET', '/users/me')
  expect(me.email ?? me.username).toBe(customer.email)
  expect(`${me.plan}`).toBe('premium')
  expect(Array.isArray(me.clusters) ? me.clusters.length : me.clusters).toBe(6)
})

test('clusters: reads titles and scalar fields', async () => {
  const clusters = await call('GET', '/users/me/clusters')
  const titles = clusters.map((cluster: Record<string, unknown>) => cluster.name ?? cluster.id ?? 'Unnamed')
  expect(titles).toEqual(['cl0-global', 'cl1-eu', 'cl1-na', 'cl2-es', 'cl2-us', 'cl2-de'])
})

test('pin and remove: trim the CID and ignore the answer', async () => {
  const { record } = await service.engine.pins.upload(Buffer.from('pinned after upload'), { account: customer.id })
  await call('POST', `/files/pin/${record.cid}`, { json: {} })
  await call('DELETE', `/files/remove/${record.cid}`)
  await expect(call('DELETE', `/files/remove/${record.cid}`)).rejects.toThrow('no pin')
})

test('doctor: API and gateway answer without credentials; /users/me checks the key', async () => {
  const signal = AbortSignal.timeout(5_000)
  expect((await fetch(service.base, { signal })).status).toBe(200)
  expect((await fetch(service.gateway, { signal })).status).toBeGreaterThanOrEqual(200)
  const unknown = await fetch(`${service.base}/users/me`, { headers: { Authorization: 'Bearer wrong' }, signal })
  expect(unknown.status).toBe(401)
})

test('share: pages of other origins may read content from the gateway', async () => {
  const { record } = await service.engine.pins.upload(Buffer.from('shared'), { account: customer.id })
  const answer = await fetch(service.gateway + record.cid, { headers: { Origin: 'https://share.example' } })
  expect(answer.headers.get('access-control-allow-origin')).toBe('*')
  expect(await answer.text()).toBe('shared')
})
