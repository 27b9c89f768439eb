import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { HoldfastClient } from '../../../adapters/client/index.ts'
import { codeAt } from '../../contract/audits-second-factor.ts'
import { type ServedEngine, serveEngine } from '../../support/served-engine.ts'
import { temporaryDirectory } from '../../support/server-process.ts'

const email = 'holder@example.org'
const password = 'a long enough password'

let directory: ReturnType<typeof temporaryDirectory>
let served: ServedEngine

beforeAll(async () => {
  directory = temporaryDirectory()
  served = await serveEngine(join(directory.path, 'data'), { signup: { enabled: true, plan: 'unlimited' } })
  await as('x').request('POST', '/auth/signup', { json: { email, password } })
})
afterAll(async () => {
  await served[Symbol.asyncDispose]()
  directory.remove()
})

function as(key: string): HoldfastClient {
  return new HoldfastClient({ base: served.url, key })
}

async function signedIn(): Promise<{ client: HoldfastClient; token: string }> {
  const session = await as('x').sessions.signIn(email, password)
  if (!('token' in session)) throw new Error('a second factor is on')
  return { client: as(session.token), token: session.token }
}

test('signs in and out, and lists sessions', async () => {
  await expect(as('x').sessions.signIn(email, 'another password')).rejects.toMatchObject({ code: 'INVALID_API_KEY' })
  const [here, there] = [await signedIn(), await signedIn()]
  const first = await here.client.sessions.list({ limit: 1 })
  expect(first.rows).toHaveLength(1)
  const rest = await here.client.sessions.list({ after: first.next ?? '' })
  const rows = [...first.rows, ...rest.rows]
  expect(rows.map(({ current }) => current).toSorted()).toEqual([false, true])
  expect(rest.next).toBeNull()
  await there.client.sessions.signOut()
  await expect(there.client.account.show()).rejects.toMatchObject({ code: 'INVALID_API_KEY' })
  await signedIn()
  const third = await signedIn()
  expect(await here.client.sessions.endOthers()).toBe(2)
  await expect(third.client.account.show()).rejects.toMatchObject({ code: 'INVALID_API_KEY' })
  const again = await signedIn()
  const other = (await here.client.sessions.list()).rows.find(({ current }) => !current)
  await here.client.sessions.end(other?.id ?? '')
  await expect(again.client.account.show()).rejects.toMatchObject({ code: 'INVALID_API_KEY' })
  await expect(as(served.key).sessions.list()).rejects.toMatchObject({ code: 'SESSION_REQUIRED' })
})

test('changes name and password', async () => {
  const { client } = await signedIn()
  expect(await client.account.update({ name: 'Holder' })).toMatchObject({ name: 'Holder', email })
  expect((await client.account.show()).planDetails).toMatchObject({ name: 'unlimited', maxStorageBytes: null })
  await expect(client.account.changePassword('not it', 'another long password')).rejects.toMatchObject({
    code: 'VALIDATION',
  })
  await client.account.changePassword(password, 'another long password')
  await client.account.changePassword('another long password', password)
})

test('uses a second factor to sign in and to create keys', async () => {
  const { client } = await signedIn()
  const { secret, otpauthUrl } = await client.secondFactor.setUp()
  expect(new URL(otpauthUrl).searchParams.get('secret')).toBe(secret)
  const codes = await client.secondFactor.enable(codeAt(secret, Date.now()))
  expect(codes.length).toBeGreaterThan(4)
  const [zeroth = '', first = '', second = '', third = ''] = codes
  const half = await as('x').sessions.signIn(email, password)
  if (!('requires2FA' in half)) throw new Error('no code was asked for')
  await expect(as('x').sessions.confirm(half.temporaryToken, 'abcdef')).rejects.toMatchObject({ code: '2fa_invalid' })
  const { token } = await as('x').sessions.confirm(half.temporaryToken, zeroth)
  const confirmed = as(token)
  await expect(confirmed.keys.create({ name: 'k' })).rejects.toMatchObject({ code: '2fa_required' })
  await confirmed.keys.create({ name: 'k', totpCode: first })
  await expect(confirmed.keys.revoke('k')).rejects.toMatchObject({ code: '2fa_required' })
  await confirmed.keys.revoke('k', { totpCode: second })
  await confirmed.secondFactor.disable({ code: third })
  await expect(confirmed.secondFactor.disable({ password })).rejects.toMatchObject({ code: 'CONFLICT' })
})

test('creates upload tokens, and sees their use', async () => {
  const { client } = await signedIn()
  const { token, name } = await client.keys.createUploadToken({ maxUses: 2, maxBytes: 100, name: 'for a friend' })
  await as(token).files.upload('x')
  expect(await client.keys.listUploadTokens()).toMatchObject([{ name, uses: 1, upload: { maxUses: 2, maxBytes: 100 } }])
  expect(await client.keys.list()).toEqual([])
  await client.keys.revoke(name)
  expect(await client.keys.listUploadTokens()).toEqual([])
})

// feature: webhooks
test('has webhooks, and sees their deliveries', async () => {
  const { client } = await signedIn()
  const { id, secret, url } = await client.webhooks.create('https://told.invalid/hook')
  expect(secret.length).toBeGreaterThan(20)
  const { uploadId } = await client.files.upload('told of')
  expect(await client.webhooks.list()).toMatchObject([{ id, url, waiting: 1, dropped: 0 }])
  const { rows, next } = await client.webhooks.deliveries(id, { limit: 1 })
  expect(rows).toMatchObject([{ event: 'pin:created', uploadId, state: 'waiting' }])
  expect(next).not.toBeUndefined()
  await client.webhooks.remove(id)
  await expect(client.webhooks.deliveries(id)).rejects.toMatchObject({ code: 'NOT_FOUND' })
})
// end
