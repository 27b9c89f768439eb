import assert from 'node:assert/strict'
import {
  type Actor,
  type Audit,
  assertError,
  BASE,
  cidOf,
  directoryForm,
  expectStatus,
  fileForm,
  json,
} from './world.ts'

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
    name: 'MUST list records with the fields that clients read, and both totals',
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
        ...{ status: 'pinned', meta: {}, parentCid: null, path: null, visibility: 'public' },
      })
      assert.equal(total, 1)
      assert.deepEqual(pagination, { page: 1, limit: 100, total: 1, totalPages: 1 })
    },
  },
  {
    id: 'list.search',
    name: 'MUST find records by all filters, and refuse invalid ones by name',
    async run({ actor, advance, now }) {
      const account = await actor()
      const cats = await store(account, 'Cats', { meta: '{"album":"pets","rated":"5"}' })
      await advance(1)
      const middle = new Date(now()).toISOString()
      await advance(1)
      const dogs = await store(account, 'dogs', { meta: '{"album":"pets"}' })
      const dir = directoryForm({ 'a.txt': 'a' }, { dirName: 'Cathedral' })
      await expectStatus(account.request('POST', `${BASE}/files/directory-dag`, dir), 201)
      const names = async (query: Record<string, string>) => {
        const { uploads, total } = await list(account, `?${new URLSearchParams(query)}`)
        assert.equal(total, uploads.length)
        return (uploads as unknown as { name: string }[]).map(({ name }) => name)
      }
      assert.deepEqual(await names({ q: 'CAT' }), ['Cathedral', 'Cats.txt'])
      assert.deepEqual(await names({ name: 'Cat', match: 'partial', type: 'file' }), ['Cats.txt'])
      assert.deepEqual(await names({ name: 'cats.txt' }), [])
      assert.deepEqual(await names({ name: 'cats.txt', match: 'iexact' }), ['Cats.txt'])
      assert.deepEqual(await names({ meta: '{"album":"pets"}', sort: 'oldest' }), ['Cats.txt', 'dogs.txt'])
      assert.deepEqual(await names({ meta: '{"album":"pets","rated":"5"}' }), ['Cats.txt'])
      assert.deepEqual(await names({ status: 'queued,failed' }), [])
      assert.deepEqual(await names({ before: middle }), ['Cats.txt'])
      assert.deepEqual(await names({ after: middle, type: 'file,pin' }), ['dogs.txt'])
      assert.deepEqual(await names({ q: '', cid: dogs }), ['dogs.txt'])
      assert.deepEqual(await names({ q: 'x', cid: cats }), ['Cats.txt'])
      assert.deepEqual((await list(account, '?q=t&limit=1&page=2')).pagination, {
        page: 2,
        limit: 1,
        total: 3,
        totalPages: 3,
      })
      const wrong: Record<string, string> = {
        ...{ match: 'nearly', type: 'folder', status: 'gone', before: 'yesterday', after: '2030-02-30T00:00:00Z' },
        ...{ visibility: 'secret', sort: 'random', meta: '["a"]', q: 'x'.repeat(256) },
      }
      for (const [field, value] of Object.entries(wrong)) {
        const answer = await account.request(
          'GET',
          `${BASE}/users/me/uploads?${new URLSearchParams({ [field]: value })}`,
        )
        assertError(answer, 400, 'VALIDATION')
        assert.match(answer.json.message, new RegExp(field))
      }
      const below = await account.request('GET', `${BASE}/users/me/uploads?parentCid=${cats}&q=a`)
      assertError(below, 400, 'VALIDATION')
    },
  },
  {
    id: 'list.sort',
    name: 'MUST sort by name and size, in both directions, with filters and pages',
    async run({ actor, advance }) {
      const account = await actor()
      const sizes = { Cherry: 40, apple: 2_000, Banana: 300, avocado: 300 }
      for (const [name, size] of Object.entries(sizes)) {
        const form = fileForm(name.padEnd(size, '.'), {}, name)
        await expectStatus(account.request('POST', `${BASE}/files`, form), 201)
        await advance(1)
      }
      const names = async (query: string) =>
        ((await list(account, query)).uploads as unknown as { name: string }[]).map(({ name }) => name)
      assert.deepEqual(await names('?sort=name'), ['apple', 'avocado', 'Banana', 'Cherry'])
      assert.deepEqual(await names('?sort=-name&limit=3'), ['Cherry', 'Banana', 'avocado'])
      assert.deepEqual(await names('?sort=-name&limit=3&page=2'), ['apple'])
      // Equal ones come newest first.
      assert.deepEqual(await names('?sort=size'), ['Cherry', 'avocado', 'Banana', 'apple'])
      assert.deepEqual(await names('?sort=-size&q=an'), ['Banana'])
      assert.deepEqual((await list(account, '?sort=-size&limit=3')).pagination, {
        ...{ page: 1, limit: 3, total: 4, totalPages: 2 },
      })
      const { cid } = (await expectStatus(account.request('POST', `${BASE}/files`, fileForm('x', {}, 'x')), 201)).json
      const below = await account.request('GET', `${BASE}/users/me/uploads?parentCid=${cid}&sort=name`)
      assertError(below, 400, 'VALIDATION')
    },
  },
  {
    id: 'list.meta',
    name: 'MUST store meta, change it on rename, and refuse non-text values',
    async run({ actor }) {
      const account = await actor()
      const cid = await store(account, 'kept', { meta: '{"b":"2","a":"1","__proto__":"p"}' })
      const [item] = (await list(account)).uploads as unknown as { uploadId: string; meta: object }[]
      assert.equal(JSON.stringify(item?.meta), '{"__proto__":"p","a":"1","b":"2"}')
      const rename = (body: object) => account.request('PUT', `${BASE}/files/rename/${item?.uploadId}`, json(body))
      const changed = await expectStatus(rename({ meta: { c: '3' } }), 200)
      assert.deepEqual(changed.json, { updated: true, newName: 'kept.txt', meta: { c: '3' } })
      assert.deepEqual((await expectStatus(rename({ newName: 'new' }), 200)).json, { updated: true, newName: 'new' })
      const [kept] = (await list(account)).uploads as unknown as { meta: object }[]
      assert.deepEqual(kept?.meta, { c: '3' })
      assertError(await rename({}), 400, 'VALIDATION')
      assertError(await rename({ meta: { c: 3 } }), 400, 'VALIDATION')
      const pin = (meta: unknown) => account.request('POST', `${BASE}/files/pin/${cid}`, json({ meta }))
      assert.deepEqual((await expectStatus(pin({ of: 'a pin' }), 201)).json.meta, { of: 'a pin' })
      const many = Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`k${i}`, '']))
      for (const meta of [{ k: 'x'.repeat(4_096) }, many, { '': 'x' }, ['x'], 'x']) {
        assertError(await pin(meta), 400, 'VALIDATION')
      }
      const form = await account.request('POST', `${BASE}/files`, fileForm('x', { meta: 'no JSON' }))
      assertError(form, 400, 'VALIDATION')
    },
  },
  {
    id: 'list.paging',
    name: 'MUST page through exactly total records, newest first, with the limit clamped',
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
    name: 'MUST refuse a page or limit that is not a positive integer',
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
    name: 'MUST filter by CID, and by hasExpiration only if it is true',
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
    name: 'MUST list a directory as one record, and its files by parentCid',
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
    name: "MUST list only the account's own records, and require credentials",
    async run({ client, actor }) {
      const account = await actor()
      await store(account, 'mine alone')
      assert.equal((await list(await actor())).total, 0)
      assertError(await client.request('GET', `${BASE}/users/me/uploads`), 401, 'INVALID_API_KEY')
    },
  },
  {
    id: 'clusters.array',
    name: "MUST list the plan's clusters in configured order, gateways ending in /ipfs/",
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
        assert.match(cluster.country, /\S/)
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
