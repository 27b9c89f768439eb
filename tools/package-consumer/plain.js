// The package from plain JavaScript, with nothing but itself installed: engine, network, HTTP, gateway.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createEngine, HoldfastError, SCOPES, VERSION } from 'holdfast'
import { HoldfastClient } from 'holdfast/client'
import { holdfast } from 'holdfast/fastify'
import { toFetch } from 'holdfast/fetch'
import { createHandler } from 'holdfast/node-http'
import metadata from 'holdfast/package.json' with { type: 'json' }

assert.equal(VERSION, metadata.version)
assert.equal(typeof holdfast, 'function')
await assert.rejects(import('fastify'), { code: 'ERR_MODULE_NOT_FOUND' })

const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-consumer-'))
const engine = await createEngine({ dataDir, network: { enabled: true, listen: ['/ip4/127.0.0.1/tcp/0'] } })
try {
  assert.ok((await engine.addresses()).length > 0)
  const account = await engine.accounts.create({ email: 'a@example.org', plan: 'unlimited' })
  const { secret } = await engine.keys.create(account.id, { name: 'main', scopes: SCOPES })
  await assert.rejects(engine.pins.pin({ account: account.id, cid: 'nonsense' }), HoldfastError)

  const server = createServer(createHandler(engine)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${server.address().port}`
  const form = new FormData()
  form.append('file', new Blob(['from the tarball']), 'hello.txt')
  const headers = { 'x-api-key': secret }
  const uploaded = await fetch(`${origin}/api/v3/files`, { method: 'POST', headers, body: form })
  assert.equal(uploaded.status, 201)
  const { cid } = await uploaded.json()
  assert.equal(await (await fetch(`${origin}/ipfs/${cid}`)).text(), 'from the tarball')
  const answer = await toFetch(engine)(new Request(`http://localhost/ipfs/${cid}`))
  assert.equal(await answer.text(), 'from the tarball')
  const client = new HoldfastClient({ base: origin, key: secret })
  const mine = await client.files.upload('by the client', { name: 'mine.txt' })
  assert.deepEqual(
    (await client.pins.page(1)).uploads.map(upload => upload.cid),
    [mine.cid, cid],
  )
  server.closeAllConnections()
  server.close()
} finally {
  await engine.stop()
  await rm(dataDir, { recursive: true, force: true })
}
