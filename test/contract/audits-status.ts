import assert from 'node:assert/strict'
import { CID } from 'multiformats/cid'
import {
  type Actor,
  type Answer,
  type Audit,
  assertError,
  BASE,
  cidOf,
  DAY_MS,
  directoryForm,
  expectStatus,
  fileForm,
  json,
} from './world.ts'

async function stored(account: Actor, content: string, fields: Record<string, string> = {}): Promise<Answer['json']> {
  return (await expectStatus(account.request('POST', `${BASE}/files`, fileForm(content, fields)), 200, 201)).json
}

function rename(account: Actor, uploadId: string, body: unknown): Promise<Answer> {
  return account.request('PUT', `${BASE}/files/rename/${uploadId}`, json(body))
}

const ALLOCATIONS = ['/status/allocations/', '/allocations/']

/** Single records: status, files and name. */
export const statusAudits: readonly Audit[] = [
  {
    id: 'status.pinned',
    name: "MUST return a pin's status as in the list, with its allocations",
    async run({ actor, now }) {
      const account = await actor()
      const made = await stored(account, 'whose status is asked')
      const { json: status } = await expectStatus(account.request('GET', `${BASE}/status/${made.cid}`), 200)
      for (const field of ['cid', 'clusterId', 'expiresAt', 'createdAt', 'status', 'uploadId', 'size']) {
        assert.deepEqual(status[field], made[field], field)
      }
      assert.equal(status.pinned, true)
      assert.deepEqual([status.blocks, status.bytes], [1, 21])
      assert.equal(status.lastError, null)
      const timestamp = new Date(now()).toISOString()
      assert.deepEqual(status.allocations, [{ peer: 'cl0-global', status: 'pinned', timestamp, error: null }])
    },
  },
  {
    id: 'status.other-form',
    name: 'MUST find content by any form of its CID',
    async run({ actor }) {
      const account = await actor()
      const form = directoryForm({ 'a.txt': 'by any form of its cid' })
      const { json: made } = await expectStatus(account.request('POST', `${BASE}/files/directory-dag`, form), 201)
      const other = CID.parse(made.cid).toV0().toString()
      const { json: status } = await expectStatus(account.request('GET', `${BASE}/status/${other}`), 200)
      assert.equal(status.uploadId, made.uploadId)
    },
  },
  {
    id: 'status.cluster',
    name: 'MUST honour cl and X-Cluster in status and allocations',
    async run({ actor }) {
      const account = await actor()
      const { cid } = await stored(account, 'in two clusters', { cl: 'cl1-eu' })
      await stored(account, 'in two clusters', { cl: 'cl1-na' })
      const both = await expectStatus(account.request('GET', `${BASE}/status/${cid}`), 200)
      assert.deepEqual(both.json.allocations.map(({ peer }: { peer: string }) => peer).toSorted(), ['cl1-eu', 'cl1-na'])
      const one = await expectStatus(account.request('GET', `${BASE}/status/${cid}?cl=cl1-eu`), 200)
      assert.deepEqual([one.json.clusterId, one.json.allocations.length], ['cl1-eu', 1])
      for (const path of ALLOCATIONS) {
        const headers = { 'x-cluster': 'cl1-na' }
        const { json: held } = await expectStatus(account.request('GET', BASE + path + cid, { headers }), 200)
        assert.deepEqual([held.cid, held.replication_factor], [cid, 1])
        assert.deepEqual(
          held.nodes.map(({ peer }: { peer: string }) => peer),
          ['cl1-na'],
        )
      }
      assertError(await account.request('GET', `${BASE}/status/${cid}?cl=cl2-de`), 404, 'PIN_NOT_FOUND')
    },
  },
  {
    id: 'status.unknown',
    name: 'MUST answer 404 for unknown, expired, foreign and malformed CIDs',
    async run({ actor, now, advance }) {
      const account = await actor()
      const { cid: theirs } = await stored(await actor(), 'of somebody else')
      const { cid: expired } = await stored(account, 'soon over', { timelock: new Date(now() + DAY_MS).toISOString() })
      await advance(DAY_MS)
      for (const cid of [await cidOf('never uploaded'), theirs, expired, 'no-cid']) {
        for (const path of ['/status/', ...ALLOCATIONS, '/users/me/uploads/dag/']) {
          assertError(await account.request('GET', BASE + path + cid), 404, 'PIN_NOT_FOUND')
        }
      }
    },
  },
  {
    id: 'status.scopes',
    name: 'MUST require files:read, and files:write to rename',
    async run({ client, actor }) {
      const account = await actor()
      const { cid, uploadId } = await stored(account, 'guarded status')
      const key = await account.key({ name: 'clusters only', scopes: ['cluster:read'] })
      const headers = { authorization: `Bearer ${key}` }
      for (const path of ['/status/', ...ALLOCATIONS, '/users/me/uploads/dag/']) {
        const refused = assertError(await client.request('GET', BASE + path + cid, { headers }), 403, 'missing_scope')
        assert.equal(refused.required, 'files:read')
        assertError(await client.request('GET', BASE + path + cid), 401, 'INVALID_API_KEY')
      }
      const change = await client.request('PUT', `${BASE}/files/rename/${uploadId}`, {
        headers,
        body: '{"newName":"x"}',
      })
      assert.equal(assertError(change, 403, 'missing_scope').required, 'files:write')
    },
  },
  {
    id: 'dag.files',
    name: 'MUST describe an uploaded directory as its upload did',
    async run({ actor }) {
      const account = await actor()
      const form = directoryForm({ 'a.txt': 'first', 'sub/b.txt': 'second' }, { dirName: 'pair' })
      const { json: made } = await expectStatus(account.request('POST', `${BASE}/files/directory-dag`, form), 201)
      const { json: dag } = await expectStatus(
        account.request('GET', `${BASE}/users/me/uploads/dag/${encodeURIComponent(made.cid)}`),
        200,
      )
      const { message: _, url: __, ...rest } = made
      assert.deepEqual(dag, rest)
      assert.deepEqual(
        dag.files.map(({ path }: { path: string }) => path),
        ['a.txt', 'sub/b.txt'],
      )
    },
  },
  {
    id: 'rename.record',
    name: 'MUST rename one record, trimmed, and list the new name',
    async run({ actor }) {
      const account = await actor()
      const { uploadId } = await stored(account, 'to be renamed')
      await stored(account, 'not to be renamed')
      const { json: renamed } = await expectStatus(rename(account, uploadId, { newName: '  Better name ' }), 200)
      assert.deepEqual(renamed, { updated: true, newName: 'Better name' })
      const { json: list } = await account.request('GET', `${BASE}/users/me/uploads`)
      const names = list.uploads.map(({ name }: { name: string }) => name)
      assert.deepEqual(names.toSorted(), ['Better name', 'audit.txt'])
    },
  },
  {
    id: 'rename.refused',
    name: 'MUST refuse to rename foreign records with 404, bad names with 400',
    async run({ actor }) {
      const account = await actor()
      const { uploadId } = await stored(account, 'keeps its name')
      const { uploadId: theirs } = await stored(await actor(), 'of another')
      for (const id of [theirs, 'unknown']) {
        assertError(await rename(account, id, { newName: 'x' }), 404, 'NOT_FOUND')
      }
      for (const body of [{}, { newName: 5 }, { newName: '' }, { newName: 'a\nb' }, { newName: 'x'.repeat(256) }]) {
        assertError(await rename(account, uploadId, body), 400, 'VALIDATION', 'newName')
      }
    },
  },
  {
    id: 'peers.count',
    name: 'MUST count peers without naming them, without credentials',
    async run({ client }) {
      for (const path of [`${BASE}/peers`, `${BASE}/peers/`]) {
        assert.deepEqual((await expectStatus(client.request('GET', path), 200)).json, { peers: [], count: 0 })
      }
    },
  },
  {
    id: 'description.served',
    name: 'MUST serve its OpenAPI document and a page of it without credentials',
    async run({ client }) {
      const { json: document } = await expectStatus(client.request('GET', `${BASE}/openapi.json`), 200)
      assert.match(document.openapi, /^3\.1\./)
      assert.ok('/files' in document.paths)
      for (const [path, source] of [
        [`${BASE}/docs`, 'openapi.json'],
        [`${BASE}/docs/`, '../openapi.json'],
      ] as const) {
        const page = await expectStatus(client.request('GET', path), 200)
        assert.match(page.header('content-type') ?? '', /^text\/html/)
        assert.ok(page.body.toString().includes(`href="${source}"`))
      }
    },
  },
]
