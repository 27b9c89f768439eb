import assert from 'node:assert/strict'
import { type Actor, type Audit, assertError, BASE, cidOf, directoryForm, expectStatus, fileForm } from './world.ts'

interface Listed {
  uploads: { cid: string; path: string | null; createdAt: string; uploadId: string }[]
  total: number
  pagination: { page: number; limit: number; total: number; totalPages: number }
}

async function list(account: Actor, query = ''): Promise<Listed> {
  return (await expectStatus(account.request('GET', `${BASE}/users/me/uploads${query}`), 200)).json
}

async function store(account: Actor, content: string, fields: Record<string, string> = {}): Promise<string> {
  const answer = account.request('POST', `${BASE}/files`, fileForm(content, fields, `${content}.txt`))
  return (await expectStatus(answer, 201)).json.cid
}

/** GET /users/me/uploads and GET /users/me/clusters. */
export const listAudits: readonly Audit[] = [
  {
    id: 'list.shape',
    name: 'MUST list records with the fields that all clients read, and both totals',
    async run({ actor, now }) {
      const account = await actor()
      assert.deepEqual(await list(account), {
        uploads: [],
        total: 0,
        pagination: { page: 1, limit: 100, total: 0, totalPages: 0 },
      })
      const cid = await store(account, 'listed', { cl: 'cl1-eu', timelock: '2040-01-01T00:00:00+01:00' })
      const { uploads, total, pagination } = await list(account)
      const createdAt = new Date(now()).toISOString()
      const [{ uploadId, ...rest } = { uploadId: '' }] = uploads
      assert.match(uploadId, /\S/)
      assert.deepEqual(rest, {
        ...{ cid, clusterId: 'cl1-eu', expiresAt: '2039-12-31T23:00:00.000Z', createdAt, uploadedAt: createdAt },
        ...{ name: 'listed.txt', originalName: null, customName: null, size: 6, dagSize: 6, type: 'file' },
        ...{ status: 'pinned', parentCid: null, path: null },
      })
      assert.equal(total, 1)
      assert.deepEqual(pagination, { page: 1, limit: 100, total: 1, totalPages: 1 })
    },
  },
  {
    id: 'list.paging',
    name: 'MUST deliver by paging exactly what total says, newest first, each once, with the limit clamped and echoed',
    async run({ actor, advance }) {
      const account = await actor('audit-small')
      const cids: string[] = []
      for (const content of ['p1', 'p2', 'p3', 'p4']) {
        cids.unshift(await store(account, content))
        await advance(content === 'p2' ? 0 : 1)
      }
      const first = await list(account)
      assert.deepEqual(first.pagination, { page: 1, limit: 2, total: 4, totalPages: 2 })
      const clamped = await list(account, '?limit=1000')
      assert.deepEqual(clamped.pagination, { page: 1, limit: 3, total: 4, totalPages: 2 })
      assert.equal(clamped.uploads.length, 3)
      for (const limit of [1, 2, 3]) {
        const seen: string[] = []
        for (let page = 1; page <= Math.ceil(4 / limit); page++) {
          seen.push(...(await list(account, `?page=${page}&limit=${limit}`)).uploads.map(({ cid }) => cid))
        }
        assert.equal(seen.length, 4)
        assert.deepEqual(seen.toSorted(), cids.toSorted())
        assert.deepEqual([seen[0], seen[3]], [cids[0], cids[3]])
      }
      const past = await list(account, '?page=99')
      assert.deepEqual([past.uploads, past.total, past.pagination.page], [[], 4, 99])
      assert.equal((await list(account, '?page=9007199254740993')).total, 4)
    },
  },
  {
    id: 'list.invalid',
    name: 'MUST refuse a page or limit that is no positive integer with 400 naming it',
    async run({ actor }) {
      const account = await actor()
      for (const value of ['0', '-1', '1.5', 'x', '', '1e3', '%20']) {
        for (const name of ['page', 'limit']) {
          const answer = await account.request('GET', `${BASE}/users/me/uploads?${name}=${value}`)
          assertError(answer, 400, 'VALIDATION', name)
        }
      }
    },
  },
  {
    id: 'list.filters',
    name: 'MUST filter by content and by expiry, the latter only when true',
    async run({ actor }) {
      const account = await actor()
      const kept = await store(account, 'kept')
      const timed = await store(account, 'timed', { timelock: '2040-01-01T00:00:00Z' })
      const cids = async (query: string): Promise<string[]> =>
        (await list(account, query)).uploads.map(({ cid }) => cid).toSorted()
      assert.deepEqual(await cids('?hasExpiration=true'), [timed])
      for (const value of ['false', '1', '', 'TRUE']) {
        assert.deepEqual(await cids(`?hasExpiration=${value}`), [kept, timed].toSorted())
      }
      assert.deepEqual(await cids(`?cid=${kept}`), [kept])
      assert.deepEqual(await cids(`?cid=${await cidOf('something else')}`), [])
      assert.deepEqual(await cids(`?cid=${kept}&hasExpiration=true`), [])
      assert.equal((await list(account, '?hasExpiration=true')).total, 1)
    },
  },
  {
    id: 'list.parent',
    name: 'MUST list the files of a directory that the account has, each path once, and directories as one record',
    async run({ actor }) {
      const account = await actor()
      const files = { 'a.txt': 'same', 'b.txt': 'same', 'sub/c.txt': 'other' }
      const body = directoryForm(files, { dirName: 'parent' })
      const made = await expectStatus(account.request('POST', `${BASE}/files/directory-dag`, body), 201)
      const again = directoryForm(files, { dirName: 'parent', cl: 'cl1-eu' })
      await expectStatus(account.request('POST', `${BASE}/files/directory-dag`, again), 201)
      const root = made.json.cid
      assert.equal((await list(account)).total, 2)
      const below = await list(account, `?parentCid=${root}`)
      assert.equal(below.total, 3)
      assert.deepEqual(below.uploads.map(({ path }) => path).toSorted(), Object.keys(files).toSorted())
      for (const item of below.uploads as unknown as Record<string, unknown>[]) {
        assert.equal(item.parentCid, root)
        assert.equal(item.cid, await cidOf(files[item.path as keyof typeof files]))
        assert.equal(item.size, files[item.path as keyof typeof files].length)
      }
      const paged = await list(account, `?parentCid=${root}&limit=2&page=2`)
      assert.deepEqual([paged.uploads.length, paged.total, paged.pagination.totalPages], [1, 3, 2])
      assert.equal((await list(await actor(), `?parentCid=${root}`)).total, 0)
    },
  },
  {
    id: 'list.own',
    name: 'MUST list nobody else’s records, and without credentials none',
    async run({ client, actor }) {
      const account = await actor()
      await store(account, 'mine alone')
      assert.equal((await list(await actor())).total, 0)
      assertError(await client.request('GET', `${BASE}/users/me/uploads`), 401, 'INVALID_API_KEY')
    },
  },
  {
    id: 'clusters.array',
    name: 'MUST list the clusters of the plan as an array in configured order, with gateways that end in /ipfs/',
    async run({ actor }) {
      const account = await actor('premium')
      const { json: clusters } = await expectStatus(account.request('GET', `${BASE}/users/me/clusters`), 200)
      assert.ok(Array.isArray(clusters))
      const ids = clusters.map((cluster: { clusterId: string }) => cluster.clusterId)
      assert.deepEqual(ids, ['cl0-global', 'cl1-eu', 'cl1-na', 'cl2-es', 'cl2-us', 'cl2-de'])
      for (const cluster of clusters) {
        assert.equal(cluster.id, cluster.clusterId)
        assert.match(cluster.label, /\S/)
        assert.match(cluster.region, /\S/)
        assert.ok('country' in cluster)
        assert.ok(cluster.gateways.length > 0)
        for (const [index, gateway] of cluster.gateways.entries()) {
          assert.match(gateway.publicUrl, /^https?:\/\/[^/]+.*\/ipfs\/$/)
          assert.match(gateway.url, /\/ipfs\/$/)
          assert.match(gateway.label, /\S/)
          assert.equal(gateway.order, index)
        }
      }
    },
  },
  {
    id: 'clusters.allowed',
    name: 'MUST list no cluster that the plan does not allow',
    async run({ actor }) {
      const ids = async (plan: string): Promise<string[]> => {
        const answer = await expectStatus((await actor(plan)).request('GET', `${BASE}/users/me/clusters`), 200)
        return answer.json.map((cluster: { clusterId: string }) => cluster.clusterId)
      }
      assert.deepEqual(await ids('free'), ['cl0-global'])
      assert.deepEqual(await ids('audit-rate'), ['cl0-global', 'cl1-eu'])
    },
  },
]
