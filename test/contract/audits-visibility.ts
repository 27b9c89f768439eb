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
  type World,
} from './world.ts'

async function stored(account: Actor, content: string, fields: Record<string, string> = {}) {
  const { json: made } = await expectStatus(account.request('POST', `${BASE}/files`, fileForm(content, fields)), 201)
  return made as { cid: string; uploadId: string; visibility: string }
}

function change(account: Actor, uploadId: string, visibility: unknown): Promise<Answer> {
  return account.request('PUT', `${BASE}/files/visibility/${uploadId}`, json({ visibility }))
}

async function strangerGets({ client }: World, cid: string): Promise<number> {
  return (await client.request('GET', `/ipfs/${cid}`)).status
}

/** Records that only their account reads. */
export const visibilityAudits: readonly Audit[] = [
  {
    id: 'visibility.change',
    name: 'MUST hide the content of a private record from strangers, and show it again',
    async run(world) {
      const account = await world.actor()
      const { cid, uploadId, visibility } = await stored(account, 'seen and unseen')
      assert.equal(`${visibility} ${await strangerGets(world, cid)}`, 'public 200')
      const { json: hidden } = await expectStatus(change(account, uploadId, 'private'), 200)
      assert.equal(`${hidden.visibility} ${await strangerGets(world, cid)}`, 'private 404')
      await expectStatus(account.request('GET', `/ipfs/${cid}`), 200)
      await expectStatus(change(account, uploadId, 'public'), 200)
      assert.equal(await strangerGets(world, cid), 200)
    },
  },
  {
    id: 'visibility.elsewhere',
    name: 'MUST tell that another record keeps private content public',
    async run(world) {
      const account = await world.actor()
      const { cid } = await stored(account, 'twice')
      const other = await stored(await world.actor(), 'twice', { visibility: 'private' })
      assert.equal(`${other.cid} ${other.visibility}`, `${cid} private`)
      const { uploadId } = await stored(account, 'twice', { visibility: 'private' })
      const { json: shown } = await expectStatus(change(account, uploadId, 'private'), 200)
      assert.equal(shown.publicElsewhere, true)
      assert.equal(await strangerGets(world, cid), 200)
    },
  },
  {
    id: 'visibility.listed',
    name: 'MUST list private records and public ones apart',
    async run(world) {
      const account = await world.actor()
      const hidden = await stored(account, 'hidden', { visibility: 'private' })
      const shown = await stored(account, 'shown')
      const listed = async (query: string) => {
        const { json: page } = await expectStatus(account.request('GET', `${BASE}/users/me/uploads?${query}`), 200)
        return (page.uploads as Array<{ cid: string }>).map(({ cid }) => cid)
      }
      assert.deepEqual(await listed('visibility=private'), [hidden.cid])
      assert.deepEqual(await listed('visibility=public'), [shown.cid])
    },
  },
  {
    id: 'visibility.refused',
    name: 'MUST refuse other values, unknown records and keys without the scopes',
    async run(world) {
      const account = await world.actor()
      const { cid, uploadId } = await stored(account, 'refused', { visibility: 'private' })
      for (const wrong of ['secret', '', 5, null]) {
        assertError(await change(account, uploadId, wrong), 400, 'VALIDATION', 'visibility')
      }
      assertError(await change(account, 'none', 'public'), 404, 'NOT_FOUND')
      assertError(await change(await world.actor(), uploadId, 'public'), 404, 'NOT_FOUND')
      const auth = {
        authorization: `Bearer ${await account.key({ name: 'writes', scopes: ['files:read', 'files:write'] })}`,
      }
      const { headers, body = '' } = json({ visibility: 'public' })
      const path = `${BASE}/files/visibility/${uploadId}`
      const answer = await world.client.request('PUT', path, { headers: { ...headers, ...auth }, body })
      assertError(answer, 403, 'missing_scope', 'share:write')
      assert.equal(await strangerGets(world, cid), 404)
    },
  },
]
