import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { HoldfastClient } from '../../../adapters/client/index.ts'
import { type ServedEngine, serveEngine } from '../../support/served-engine.ts'
import { temporaryDirectory } from '../../support/server-process.ts'

let directory: ReturnType<typeof temporaryDirectory>
let served: ServedEngine
let client: HoldfastClient

beforeAll(async () => {
  directory = temporaryDirectory()
  served = await serveEngine(join(directory.path, 'data'))
  client = new HoldfastClient({ base: served.url, key: served.key })
})
afterAll(async () => {
  await served[Symbol.asyncDispose]()
  directory.remove()
})

test('creates an account, changes its plan, disables, enables and deletes it', async () => {
  const { owner } = client
  const password = 'a long enough password'
  const made = await owner.createAccount({ email: 'new@example.org', plan: 'free', name: 'New', password })
  expect(made).toMatchObject({ email: 'new@example.org', plan: 'free', name: 'New', usage: { pins: 0 } })
  const theirs = new HoldfastClient({ base: served.url, key: made.token })
  expect((await theirs.account.show()).id).toBe(made.id)
  expect(await theirs.sessions.signIn('new@example.org', password)).toHaveProperty('token')
  await expect(theirs.owner.stats()).rejects.toMatchObject({ code: 'OWNER_REQUIRED' })
  expect((await owner.setPlan(made.id, 'premium')).plan).toBe('premium')
  expect((await owner.setDisabled(made.id, true)).disabled).toBe(true)
  await expect(theirs.account.show()).rejects.toMatchObject({ code: 'account_disabled' })
  await owner.setDisabled(made.id, false)
  expect((await owner.accounts({ page: 2, limit: 1 })).accounts.map(({ id }) => id)).toEqual([made.id])
  expect(await owner.endSessions(made.id)).toBe(1)
  expect(await owner.endSessions(made.id)).toBe(0)
  await owner.deleteAccount(made.id)
  expect((await owner.accounts()).total).toBe(1)
})

test('sees statistics and activity of the node', async () => {
  await client.files.upload('watched')
  const { owner } = client
  expect((await owner.stats()).pins.pinned).toBe(1)
  const { stepSeconds, samples } = await owner.history()
  expect([stepSeconds, samples.length > 0]).toEqual([60, true])
  expect((await owner.history(900)).stepSeconds).toBe(900)
  expect(await owner.peers()).toEqual({ peerId: null, addresses: [], peers: [], count: 0 })
  expect(await owner.failures()).toEqual([])
})

test('collects garbage, and follows a verification', async () => {
  const { cid } = await client.files.upload('let go')
  await client.pins.remove(cid)
  expect(await client.owner.collect({ graceSeconds: 0, endUndo: false })).toMatchObject({
    roots: 1,
    blocks: 1,
    bytes: 6,
  })
  const steps: number[] = []
  const outcome = await client.owner.verify({ onProgress: ({ blocks }) => steps.push(blocks) })
  expect(outcome).toMatchObject({ damaged: [], damagedBlocks: 0 })
  expect(steps.at(-1)).toBe(outcome.blocks)
})

test('takes content down, and lifts it', async () => {
  const { cid } = await client.files.upload('unlawful')
  await client.owner.takeDown({ cid, path: 'a/b', reason: 'a claim', status: 451 })
  const { rows } = await client.owner.takedowns()
  expect(rows).toMatchObject([{ cid, path: 'a/b', status: 451, reason: 'a claim' }])
  const misspelt = client.owner.liftTakedown({ cid, pth: 'a/b' } as Parameters<typeof client.owner.liftTakedown>[0])
  await expect(misspelt).rejects.toMatchObject({ message: 'liftTakedown: unknown key pth, did you mean path?' })
  for (const row of rows) await client.owner.liftTakedown(row)
  expect((await client.owner.takedowns()).rows).toEqual([])
})

test('lists the uploads of one account', async () => {
  const { owner } = client
  const { id, token } = await owner.createAccount({ email: 'uploader@example.org', plan: 'free' })
  const theirs = new HoldfastClient({ base: served.url, key: token })
  for (const name of ['a', 'b']) await theirs.files.upload(name, { name, visibility: 'private' })
  const { uploads, total } = await owner.uploads(id, 2, { sort: 'name', limit: 1 })
  expect([uploads.map(({ name }) => name), total]).toEqual([['b'], 2])
})

test('sends nothing if the base is not that of an API', async () => {
  const elsewhere = new HoldfastClient({ base: `${served.url}/other`, key: served.key })
  await expect(elsewhere.owner.stats()).rejects.toMatchObject({ code: 'VALIDATION' })
})

// feature: audit
test('filters and exports the audit log', async () => {
  const { owner } = client
  const from = new Date()
  const made = await owner.createAccount({ email: 'audited@example.org', plan: 'free' })
  await owner.setPlan(made.id, 'premium')
  const page = await owner.audit({ from, limit: 1 })
  expect(page.rows).toMatchObject([
    { action: 'account.plan', outcome: 'ok', subject: made.id, email: 'owner@localhost' },
  ])
  const next = await owner.audit({ from, limit: 1, after: page.next ?? '' })
  expect([next.rows[0]?.action, next.next]).toEqual(['account.create', null])
  const pieces: Uint8Array[] = []
  for await (const piece of owner.exportAudit('jsonl', { from, action: 'account.create' })) pieces.push(piece)
  const lines = Buffer.concat(pieces).toString().trim().split('\n')
  expect(lines.map(line => JSON.parse(line))).toEqual(next.rows)
  await expect(owner.audit({ action: 'nothing' })).rejects.toMatchObject({ code: 'VALIDATION' })
})
// end
