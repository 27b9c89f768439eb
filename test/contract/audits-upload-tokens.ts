import assert from 'node:assert/strict'
import {
  type Actor,
  type Answer,
  type Audit,
  type AuditClient,
  assertError,
  BASE,
  DAY_MS,
  directoryForm,
  expectStatus,
  fileForm,
  json,
  type RequestOptions,
} from './world.ts'

async function tokenOf(account: Actor, wish: object = {}): Promise<string> {
  const made = await expectStatus(
    account.request('POST', `${BASE}/tokens/generate`, json({ maxUses: 1, ...wish })),
    201,
  )
  return made.json.token
}

function send(client: AuditClient, token: string, options: RequestOptions, path = '/files'): Promise<Answer> {
  const headers = { ...options.headers, 'x-api-key': token }
  return client.request('POST', `${BASE}${path}`, { ...options, headers })
}

async function tokens(account: Actor): Promise<Array<{ uses: number; upload: object | null; name: string }>> {
  return (await expectStatus(account.request('GET', `${BASE}/tokens/list?upload=true`), 200)).json
}

async function uses(account: Actor): Promise<number | undefined> {
  return (await tokens(account))[0]?.uses
}

/** Upload tokens: keys that allow a number of uploads and nothing else. */
export const uploadTokenAudits: readonly Audit[] = [
  {
    id: 'upload-tokens.generate',
    name: 'MUST create an upload token, list it apart, and revoke it by name',
    async run({ actor, client, now }) {
      const account = await actor()
      const timelock = new Date(now() + DAY_MS).toISOString()
      const wish = { name: 'form', maxUses: 3, maxBytes: 1_000, cl: 'cl1-eu', timelock, expiresInSeconds: 60 }
      const { json: made } = await expectStatus(account.request('POST', `${BASE}/tokens/generate`, json(wish)), 201)
      const upload = { maxUses: 3, maxBytes: 1_000, cl: 'cl1-eu', timelock }
      assert.deepEqual(made.upload, upload)
      assert.deepEqual(made.scopes, ['files:write'])
      assert.equal(made.expiresAt, new Date(now() + 60_000).toISOString())
      const [listed] = await tokens(account)
      assert.deepEqual(listed?.upload, upload)
      assert.equal(listed?.uses, 0)
      const { json: keys } = await account.request('GET', `${BASE}/tokens/list`)
      assert.ok(keys.every((key: { upload: unknown }) => key.upload === null))
      const { json: stored } = await expectStatus(send(client, made.token, fileForm('by a token')), 201)
      assert.deepEqual([stored.clusterId, stored.expiresAt], ['cl1-eu', timelock])
      await expectStatus(account.request('DELETE', `${BASE}/tokens/revoke/form`), 200)
      assertError(await send(client, made.token, fileForm('too late')), 401, 'INVALID_API_KEY')
    },
  },
  {
    id: 'upload-tokens.defaults',
    name: 'MUST give a token by default a name and an hour',
    async run({ actor, now }) {
      const account = await actor()
      const { json: made } = await expectStatus(
        account.request('POST', `${BASE}/tokens/generate`, json({ maxUses: 1 })),
        201,
      )
      assert.match(made.name, /^upload-\w+$/)
      assert.equal(made.expiresAt, new Date(now() + 3_600_000).toISOString())
      assert.deepEqual(made.upload, { maxUses: 1, maxBytes: null, cl: null, timelock: null })
    },
  },
  {
    id: 'upload-tokens.invalid',
    name: 'MUST refuse invalid fields of a token, or without maxUses, by name',
    async run({ actor, now }) {
      const account = await actor()
      const generate = (body: object) => account.request('POST', `${BASE}/tokens/generate`, json(body))
      const wrong: [object, string][] = [
        [{ maxUses: 0 }, 'maxUses'],
        [{ maxUses: 1.5 }, 'maxUses'],
        [{ maxUses: 10_001 }, 'maxUses'],
        [{ maxUses: '5' }, 'maxUses'],
        [{ maxUses: 1, maxBytes: 0 }, 'maxBytes'],
        [{ maxUses: 1, maxBytes: 1e300 }, 'maxBytes'],
        [{ maxUses: 1, expiresInSeconds: 604_801 }, 'expiresInSeconds'],
        [{ maxUses: 1, expiresInDays: 1 }, 'expiresInDays'],
        [{ maxUses: 1, scopes: ['files:read'] }, 'scopes'],
        [{ maxUses: 1, permissions: ['admin'] }, 'scopes'],
        [{ name: 'k', maxBytes: 5 }, 'maxBytes'],
        [{ name: 'k', timelock: '2099-01-01T00:00:00Z' }, 'timelock'],
        [{ name: 'k', expiresInSeconds: 5 }, 'expiresInSeconds'],
        [{ name: 'k', cl: 'cl1-eu' }, 'cl'],
      ]
      for (const [body, field] of wrong) assertError(await generate(body), 400, 'VALIDATION', field)
      assertError(await generate({ maxUses: 1, cl: 'nowhere' }), 403, 'CLUSTER_NOT_ALLOWED')
      const early = new Date(now() + 1_000).toISOString()
      for (const timelock of [early, 'soon', '2020-01-01T00:00:00Z']) {
        assertError(await generate({ maxUses: 1, timelock }), 400, 'INVALID_TIMELOCK', 'timelock')
      }
      const small = await actor('free')
      const later = json({ maxUses: 1, timelock: new Date(now() + DAY_MS).toISOString() })
      assertError(await small.request('POST', `${BASE}/tokens/generate`, later), 403, 'TIMELOCK_NOT_ALLOWED')
      assert.deepEqual(await tokens(account), [])
    },
  },
  {
    id: 'upload-tokens.scope',
    name: 'MUST require files:write for a token, and allow it only uploads',
    async run({ actor, client }) {
      const account = await actor()
      const reader = { 'x-api-key': await account.key({ name: 'reader', scopes: ['files:read'] }) }
      const wish = json({ maxUses: 1 })
      const asked = client.request('POST', `${BASE}/tokens/generate`, {
        ...wish,
        headers: { ...wish.headers, ...reader },
      })
      assertError(await asked, 403, 'missing_scope')
      const token = await tokenOf(account, { maxUses: 100 })
      const others: [string, string, RequestOptions?][] = [
        ['GET', '/users/me'],
        ['GET', '/users/me/uploads'],
        ['GET', '/users/me/clusters'],
        ['GET', '/tokens/list'],
        ['POST', '/tokens/generate', json({ name: 'more', maxUses: 1 })],
        ['POST', '/tokens/revoke', json({ name: 'reader' })],
        ['POST', '/auth/logout'],
        ['POST', '/files/directory', json({ dirPath: '.' })],
        ['POST', '/files/pin/bafkqaaa'],
        ['PUT', '/files/rename/x', json({ newName: 'y' })],
        ['DELETE', '/files/remove/bafkqaaa'],
      ]
      for (const [method, path, options = {}] of others) {
        const headers = { ...options.headers, 'x-api-key': token }
        assertError(await client.request(method, `${BASE}${path}`, { ...options, headers }), 403, 'missing_scope')
      }
      assert.equal(await uses(account), 0)
    },
  },
  {
    id: 'upload-tokens.uses',
    name: 'MUST count a use for each stored upload, not for refused ones',
    async run({ actor, client, now }) {
      const account = await actor()
      const token = await tokenOf(account, { maxUses: 3, maxBytes: 20, cl: 'cl0-global' })
      const later = new Date(now() + DAY_MS).toISOString()
      const refused: [RequestOptions, number, string, string?][] = [
        [fileForm('x'.repeat(21)), 413, 'FILE_TOO_LARGE'],
        [{ ...fileForm('x'.repeat(200_000)), chunked: true }, 413, 'FILE_TOO_LARGE'],
        [fileForm('x', { cl: 'cl1-eu' }), 403, 'CLUSTER_NOT_ALLOWED'],
        [fileForm('x', { timelock: later }), 403, 'TIMELOCK_NOT_ALLOWED'],
        [json({}), 415, 'UNSUPPORTED_MEDIA_TYPE'],
        [directoryForm({ a: 'x'.repeat(11), b: 'y'.repeat(10) }), 413, 'DIRECTORY_TOO_LARGE', '/files/directory-dag'],
      ]
      for (const [options, status, code, path] of refused) {
        assertError(await send(client, token, options, path), status, code)
      }
      assert.equal(await uses(account), 0)
      await expectStatus(send(client, token, fileForm('exactly twenty bytes')), 201)
      await expectStatus(send(client, token, fileForm('exactly twenty bytes', { cl: 'cl0-global' })), 200)
      await expectStatus(send(client, token, directoryForm({ a: 'x', b: 'y' }), '/files/directory-dag'), 201)
      assert.equal(await uses(account), 3)
      assertError(await send(client, token, fileForm('once more')), 403, 'QUOTA_EXCEEDED', 'token')
      const { json: list } = await account.request('GET', `${BASE}/users/me/uploads`)
      assert.equal(list.total, 2)
    },
  },
  {
    id: 'upload-tokens.at-once',
    name: 'MUST let ten of twenty concurrent uploads through with ten uses left',
    async run({ actor, client }) {
      const account = await actor()
      const token = await tokenOf(account, { maxUses: 10 })
      const sent = Array.from({ length: 20 }, (_, i) => send(client, token, fileForm(`one of twenty: ${i}`)))
      const answers = await Promise.all(sent)
      assert.equal(answers.filter(({ status }) => status === 201).length, 10)
      for (const answer of answers.filter(({ status }) => status !== 201)) assertError(answer, 403, 'QUOTA_EXCEEDED')
      assert.equal(await uses(account), 10)
      const { json: list } = await account.request('GET', `${BASE}/users/me/uploads`)
      assert.equal(list.total, 10)
    },
  },
  {
    id: 'upload-tokens.parent',
    name: 'MUST end a token with its parent key, at the latest',
    async run({ actor, client }) {
      const account = await actor()
      const parent = await account.key({ name: 'parent', expiresInDays: 1 })
      const generate = (body: object) => {
        const wish = json(body)
        return client.request('POST', `${BASE}/tokens/generate`, {
          ...wish,
          headers: { ...wish.headers, 'x-api-key': parent },
        })
      }
      assertError(await generate({ maxUses: 1, expiresInSeconds: 604_800 }), 400, 'VALIDATION', 'expiresInSeconds')
      const { json: made } = await expectStatus(generate({ maxUses: 5 }), 201)
      await expectStatus(send(client, made.token, fileForm('while it lasts')), 201)
      await expectStatus(account.request('DELETE', `${BASE}/tokens/revoke/parent`), 200)
      assertError(await send(client, made.token, fileForm('afterwards')), 401, 'INVALID_API_KEY')
    },
  },
]
