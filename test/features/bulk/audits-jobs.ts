import assert from 'node:assert/strict'
import {
  type Actor,
  type Answer,
  type Audit,
  assertError,
  BASE,
  expectStatus,
  fileForm,
  json,
} from '../../contract/world.ts'

async function store(account: Actor, content: string): Promise<string> {
  const answer = await expectStatus(account.request('POST', `${BASE}/files`, fileForm(content, {}, content)), 201)
  return answer.json.uploadId
}

function start(account: Actor, body: object): Promise<Answer> {
  return account.request('POST', `${BASE}/jobs`, json({ action: 'delete', ...body }))
}

async function ended(account: Actor, id: string): Promise<Answer['json']> {
  for (;;) {
    const { job } = (await expectStatus(account.request('GET', `${BASE}/jobs/${id}`), 200)).json
    if (job.state === 'done' || job.state === 'undone') return job
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}

async function names(account: Actor): Promise<string[]> {
  const { json: list } = await account.request('GET', `${BASE}/users/me/uploads`)
  return list.uploads.map(({ name }: { name: string }) => name).toSorted()
}

/** Jobs that delete many records. */
export const jobAudits: readonly Audit[] = [
  {
    id: 'jobs.delete',
    name: 'MUST delete by ids and by filter as a job, and restore the same records',
    async run({ actor, advance, now }) {
      const account = await actor()
      const ids = [await store(account, 'one'), await store(account, 'two')]
      await store(account, 'three')
      await advance(1_000)
      const before = (await account.request('GET', `${BASE}/users/me/uploads`)).json
      const { json: begun } = await expectStatus(start(account, { ids: [...ids, 'none'] }), 202)
      const { id, createdAt, ...shown } = begun.job
      assert.equal(createdAt, new Date(now()).toISOString())
      assert.deepEqual(shown, {
        ...{ action: 'delete', state: 'running', total: 3, done: 0, failed: 0, restored: 0 },
        ...{ failures: [], endedAt: null, undoUntil: null, undoEnded: null },
      })
      const { done, failures } = await ended(account, id)
      assert.deepEqual([done, failures], [2, [{ uploadId: 'none', code: 'NOT_FOUND' }]])
      assert.deepEqual(await names(account), ['three'])
      const filter = { createdBefore: new Date(now()).toISOString(), expected: 1, q: 'THREE' }
      const { job } = (await expectStatus(start(account, { filter }), 202)).json
      assert.equal((await ended(account, job.id)).total, 1)
      assert.deepEqual(await names(account), [])
      const { json: list } = await expectStatus(account.request('GET', `${BASE}/jobs`), 200)
      assert.deepEqual(
        list.jobs.map((one: { id: string }) => one.id),
        [job.id, id],
      )
      for (const one of [id, job.id]) {
        await expectStatus(account.request('POST', `${BASE}/jobs/${one}/undo`), 202)
        assert.equal((await ended(account, one)).state, 'undone')
      }
      assert.deepEqual((await account.request('GET', `${BASE}/users/me/uploads`)).json, before)
    },
  },
  {
    id: 'jobs.edit',
    name: 'MUST rename, expire and move many records as a job, which cannot be undone',
    async run({ actor, advance, now }) {
      const account = await actor()
      const ids = [await store(account, 'one'), await store(account, 'two')]
      const edit = async (body: object): Promise<Answer['json']> => {
        const { json: begun } = await expectStatus(account.request('POST', `${BASE}/jobs/edits`, json(body)), 202)
        return ended(account, begun.job.id)
      }
      const listed = async () => (await account.request('GET', `${BASE}/users/me/uploads`)).json.uploads
      const { id, undoUntil } = await edit({
        action: 'rename',
        ids,
        rename: { find: 'o', replace: '0', suffix: '.txt' },
      })
      assert.equal(undoUntil, null)
      assert.deepEqual(await names(account), ['0ne.txt', 'tw0.txt'])
      assertError(await account.request('POST', `${BASE}/jobs/${id}/undo`), 409, 'CONFLICT')
      const end = '2090-01-31T12:00:00.000Z'
      await edit({ action: 'timelock', ids, timelock: end })
      assert.deepEqual(
        (await listed()).map((one: { expiresAt: string }) => one.expiresAt),
        [end, end],
      )
      await advance(1_000)
      const filter = { createdBefore: new Date(now()).toISOString(), expected: 1, q: 'tw0' }
      await edit({ action: 'timelock', filter, timelock: 'never' })
      const expiring = await account.request('GET', `${BASE}/users/me/uploads?hasExpiration=true`)
      assert.deepEqual([expiring.json.total, expiring.json.uploads[0].name], [1, '0ne.txt'])
      await edit({ action: 'cluster', ids, cluster: 'cl1-eu' })
      assert.deepEqual(
        (await listed()).map((one: { clusterId: string }) => one.clusterId),
        ['cl1-eu', 'cl1-eu'],
      )
      const refused = (body: object) => account.request('POST', `${BASE}/jobs/edits`, json({ ids, ...body }))
      assertError(await refused({ action: 'rename' }), 400, 'VALIDATION', 'rename')
      assertError(await refused({ action: 'rename', rename: { prefix: '\n' } }), 400, 'VALIDATION', 'rename.prefix')
      assertError(await refused({ action: 'timelock' }), 400, 'VALIDATION', 'timelock')
      assertError(await refused({ action: 'timelock', timelock: '2001-01-01T00:00:00Z' }), 400, 'INVALID_TIMELOCK')
      assertError(await refused({ action: 'cluster' }), 400, 'VALIDATION', 'cluster')
      assertError(await refused({ action: 'cluster', cluster: 'none' }), 403, 'CLUSTER_NOT_ALLOWED')
      assertError(await refused({ action: 'delete' }), 400, 'VALIDATION', 'action')
    },
  },
  {
    id: 'jobs.refused',
    name: 'MUST refuse unclear selections with 400, other counts with 409, and unknown jobs with 404',
    async run({ client, actor, advance, now }) {
      const account = await actor()
      await store(account, 'kept')
      await advance(1_000)
      const filter = { createdBefore: new Date(now()).toISOString(), expected: 1 }
      const conflict = await start(account, { filter: { ...filter, expected: 2 } })
      assertError(conflict, 409, 'CONFLICT')
      assert.equal(conflict.json.selected, 1)
      for (const [path, scope, action] of [
        ['jobs', 'files:delete', 'delete'],
        ['jobs/edits', 'files:write', 'timelock'],
      ] as const) {
        const secret = await account.key({ name: scope.replace(':', ' '), scopes: [scope] })
        const body = json({ action, timelock: 'never', filter: { ...filter, expected: 7 } })
        const headers = { ...body.headers, 'x-api-key': secret }
        const hidden = await client.request('POST', `${BASE}/${path}`, { ...body, headers })
        assertError(hidden, 409, 'CONFLICT')
        assert.deepEqual([hidden.json.selected, hidden.json.message.includes('1 ')], [undefined, false])
      }
      assertError(await start(account, {}), 400, 'VALIDATION', 'ids')
      assertError(await start(account, { ids: ['a'], filter }), 400, 'VALIDATION', 'ids')
      assertError(await start(account, { ids: [] }), 400, 'VALIDATION', 'ids')
      assertError(await start(account, { ids: Array(1_001).fill('a') }), 400, 'VALIDATION', 'ids')
      assertError(await start(account, { filter: { expected: 1 } }), 400, 'VALIDATION')
      assertError(
        await start(account, { filter: { ...filter, createdBefore: 'now' } }),
        400,
        'VALIDATION',
        'createdBefore',
      )
      assertError(await start(account, { filter: { ...filter, cid: 'none' } }), 400, 'INVALID_CID')
      assertError(await start(account, { action: 'copy', ids: ['a'] }), 400, 'VALIDATION', 'action')
      assertError(await account.request('GET', `${BASE}/jobs/none`), 404, 'NOT_FOUND')
      assertError(await account.request('POST', `${BASE}/jobs/none/undo`), 404, 'NOT_FOUND')
      assert.deepEqual(await names(account), ['kept'])
    },
  },
]
