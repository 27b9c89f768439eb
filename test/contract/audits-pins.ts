import assert from 'node:assert/strict'
import { CID } from 'multiformats/cid'
import { CODEC } from '../../src/ipld/cid.ts'
import { identityBlock } from '../pins/fetches/support/dags.ts'
import {
  type Actor,
  type Answer,
  type Audit,
  assertError,
  BASE,
  cidOf,
  directoryForm,
  expectStatus,
  fileForm,
  json,
} from './world.ts'

function pin(account: Actor, cid: string, body?: unknown): Promise<Answer> {
  return account.request('POST', `${BASE}/files/pin/${cid}`, body === undefined ? {} : json(body))
}

function remove(account: Actor, cid: string, suffix = ''): Promise<Answer> {
  return account.request('DELETE', `${BASE}/files/remove/${cid}${suffix}`)
}

async function stored(account: Actor, content: string): Promise<string> {
  return (await expectStatus(account.request('POST', `${BASE}/files`, fileForm(content)), 200, 201)).json.cid
}

/** POST /files/pin/:cid and DELETE /files/remove/:cid. */
export const pinAudits: readonly Audit[] = [
  {
    id: 'pin.held',
    name: 'MUST pin content the node has at once: 201, then 200',
    async run({ actor, now }) {
      const cid = await stored(await actor(), 'held already')
      const account = await actor()
      const { json: made } = await expectStatus(pin(account, cid), 201)
      assert.equal(made.cid, cid)
      assert.equal(made.clusterId, 'cl0-global')
      assert.equal(made.expiresAt, null)
      assert.equal(made.createdAt, new Date(now()).toISOString())
      assert.equal(made.status, 'pinned')
      assert.equal(made.pinned, true)
      assert.equal(made.originalName, null)
      assert.equal(made.customName, null)
      assert.equal((await expectStatus(pin(account, cid, {}), 200)).json.uploadId, made.uploadId)
    },
  },
  {
    id: 'pin.body',
    name: 'MUST accept names, cluster and timelock, and filename as customName',
    async run({ actor }) {
      const account = await actor()
      const cid = await stored(account, 'to be named')
      const body = {
        originalName: ' photo.jpg ',
        customName: 'Holiday',
        cl: 'cl1-na',
        timelock: '2040-01-01T00:00:00Z',
      }
      const { json: made } = await expectStatus(pin(account, cid, { ...body, unknown: [1] }), 201)
      assert.equal(made.originalName, 'photo.jpg')
      assert.equal(made.customName, 'Holiday')
      assert.equal(made.clusterId, 'cl1-na')
      assert.equal(made.expiresAt, '2040-01-01T00:00:00.000Z')
      const { json: old } = await expectStatus(pin(account, cid, { filename: 'by an older client' }), 201)
      assert.equal(old.customName, 'by an older client')
    },
  },
  {
    id: 'pin.invalid-body',
    name: 'MUST refuse wrong types and invalid names with 400, naming the field',
    async run({ actor }) {
      const account = await actor()
      const cid = await stored(account, 'badly named')
      const cases = [
        [{ customName: 5 }, 'customName'],
        [{ originalName: {} }, 'originalName'],
        [{ customName: 'x'.repeat(256) }, 'customName'],
        [{ originalName: 'bell\u0007' }, 'originalName'],
        [{ cl: 7 }, 'cl'],
        [{ timelock: true }, 'timelock'],
      ] as const
      for (const [body, field] of cases) assertError(await pin(account, cid, body), 400, 'VALIDATION', field)
    },
  },
  {
    id: 'pin.refused',
    name: 'MUST refuse clusters and timelocks outside the plan with 403',
    async run({ actor }) {
      const cid = await stored(await actor(), 'refused to be pinned')
      const account = await actor('free')
      assertError(await pin(account, cid, { cl: 'cl1-eu' }), 403, 'CLUSTER_NOT_ALLOWED')
      assertError(await pin(account, cid, { timelock: '2040-01-01T00:00:00Z' }), 403, 'TIMELOCK_NOT_ALLOWED')
      assertError(await pin(account, cid, { timelock: '2040-01-01' }), 400, 'INVALID_TIMELOCK')
      await expectStatus(pin(account, cid, { cl: 'cl0-global', timelock: '' }), 201)
    },
  },
  {
    id: 'pin.invalid-cid',
    name: 'MUST answer 400 INVALID_CID to anything but a CID, also URLs and paths',
    async run({ actor }) {
      const account = await actor()
      const cid = await cidOf('a fine one')
      const bad = [
        'nonsense',
        `ipfs://${cid}`,
        `/ipfs/${cid}`,
        `https://example.org/ipfs/${cid}`,
        `${cid}/a`,
        cid.slice(0, -3),
      ]
      for (const text of [...bad, '%20', '']) assertError(await pin(account, text), 400, 'INVALID_CID')
    },
  },
  {
    id: 'pin.identity',
    name: 'MUST answer 400 INVALID_CID to unstored identity CIDs above 128 bytes (IPIP-0512)',
    async run({ actor }) {
      const account = await actor()
      const { cid } = identityBlock(CODEC.raw, Buffer.alloc(129, 'pinned'))
      assertError(await pin(account, `${cid}`), 400, 'INVALID_CID')
      for (const path of [`status/${cid}`, `status/allocations/${cid}`, `users/me/uploads/dag/${cid}`]) {
        assertError(await account.request('GET', `${BASE}/${path}`), 400, 'INVALID_CID')
      }
      assertError(await remove(account, `${cid}`), 404, 'PIN_NOT_FOUND')
      await expectStatus(pin(account, `${identityBlock(CODEC.raw, Buffer.alloc(128, 'pinned')).cid}`), 201)
    },
  },
  {
    id: 'pin.not-found',
    name: 'MUST answer 404 CID_NOT_FOUND to unavailable content, and record nothing',
    async run({ actor }) {
      const account = await actor()
      assertError(await pin(account, await cidOf(`nobody has this ${account.id}`)), 404, 'CID_NOT_FOUND')
      assert.equal((await account.request('GET', `${BASE}/users/me/uploads`)).json.total, 0)
    },
  },
  {
    id: 'pin.other-forms',
    name: 'MUST accept every form of a CID, echo it, and pin a child',
    async run({ actor }) {
      const account = await actor()
      const files = { 'one/a.txt': 'child one', 'one/b.txt': 'child two' }
      const options = directoryForm(files)
      const made = await expectStatus(account.request('POST', `${BASE}/files/directory-dag`, options), 201)
      const root = CID.parse(made.json.cid)
      const v0 = CID.createV0(root.multihash as Parameters<typeof CID.createV0>[0]).toString()
      const other = await actor()
      assert.equal((await expectStatus(pin(other, v0), 201)).json.cid, v0)
      assert.equal((await expectStatus(pin(other, `%20${root}%20`), 200)).json.cid, v0)
      assert.equal((await expectStatus(pin(other, await cidOf('child one')), 201)).json.status, 'pinned')
      await expectStatus(remove(other, root.toString()), 200)
    },
  },
  {
    id: 'remove.done',
    name: 'MUST answer {cid, removed: true}, and then no longer list the pin',
    async run({ client, actor }) {
      const account = await actor()
      const cid = await stored(account, 'to be removed')
      const answer = await expectStatus(remove(account, cid, '/'), 200)
      assert.equal(answer.json.cid, cid)
      assert.equal(answer.json.removed, true)
      assertError(await remove(account, cid), 404, 'PIN_NOT_FOUND')
      assert.equal((await account.request('GET', `${BASE}/users/me/uploads`)).json.total, 0)
      assert.deepEqual((await account.request('GET', `${BASE}/users/me`)).json.usage, {
        pins: 0,
        storedBytes: 0,
        keptBytes: 0,
      })
      assert.equal((await client.request('GET', `/ipfs/${cid}`)).status, 404)
    },
  },
  {
    id: 'remove.alias',
    name: 'MUST also remove by DELETE /users/me/uploads/:cid',
    async run({ actor }) {
      const account = await actor()
      const cid = await stored(account, 'by the alias')
      const answer = await expectStatus(account.request('DELETE', `${BASE}/users/me/uploads/${cid}`), 200)
      assert.equal(answer.json.removed, true)
    },
  },
  {
    id: 'remove.not-found',
    name: 'MUST answer the same 404 PIN_NOT_FOUND to unknown, foreign and malformed CIDs',
    async run({ actor }) {
      const owner = await actor()
      const account = await actor()
      const cid = await stored(owner, 'somebody else’s')
      const messages = new Set<unknown>()
      for (const text of [cid, await cidOf('never stored'), 'nonsense', `ipfs://${cid}`, `/ipfs/${cid}`]) {
        messages.add(assertError(await remove(account, text), 404, 'PIN_NOT_FOUND').message)
      }
      assert.equal(messages.size, 1)
      await expectStatus(remove(owner, cid), 200)
    },
  },
  {
    id: 'remove.clusters',
    name: 'MUST remove from the named cluster, or from all without one',
    async run({ actor }) {
      const account = await actor()
      const total = async (): Promise<number> => (await account.request('GET', `${BASE}/users/me/uploads`)).json.total
      const cid = await stored(account, 'in many clusters')
      for (const cl of ['cl1-eu', 'cl1-na', 'cl2-de']) await expectStatus(pin(account, cid, { cl }), 201)
      await expectStatus(remove(account, cid, '?cl=cl1-eu'), 200)
      assert.equal(await total(), 3)
      assertError(await remove(account, cid, '?cl=cl1-eu'), 404, 'PIN_NOT_FOUND')
      const headers = { 'x-cluster': 'cl1-na' }
      await expectStatus(account.request('DELETE', `${BASE}/files/remove/${cid}`, { headers }), 200)
      assert.equal(await total(), 2)
      await expectStatus(remove(account, cid), 200)
      assert.equal(await total(), 0)
    },
  },
  {
    id: 'remove.shared',
    name: 'MUST keep content that another account needs',
    async run({ client, actor }) {
      const one = await actor()
      const two = await actor()
      const cid = await stored(one, 'shared by two')
      await stored(two, 'shared by two')
      await expectStatus(remove(one, cid), 200)
      assert.equal((await expectStatus(client.request('GET', `/ipfs/${cid}`), 200)).body.toString(), 'shared by two')
      await expectStatus(remove(two, cid), 200)
    },
  },
]
