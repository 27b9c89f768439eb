// Holdfast as a plugin of a Fastify app:
//
//   npm install holdfast fastify
//   node embed-fastify.js
//
// The app's own routes, parsers, hooks and error handler stay as they are; below /storage requests go to Holdfast.

import Fastify from 'fastify'
import { createEngine, SCOPES } from 'holdfast'
import { frameworkErrors, holdfast } from 'holdfast/fastify'

const { PORT = '3000', DATA_DIR = './holdfast-data' } = process.env

const engine = await createEngine({ dataDir: DATA_DIR })
const { account, created } = await engine.accounts.ensureOwner()
const storage = { engine, prefix: '/storage' }

// The server option is what gives even paths that Fastify cannot read an answer of the API.
const app = Fastify({ frameworkErrors: frameworkErrors(storage) })

app.register(holdfast, storage)

app.post('/notes', async (request, reply) => {
  const content = Buffer.from(`${request.body.text}\n`)
  const { record } = await engine.pins.upload(content, { account: account.id, name: 'note.txt' })
  return reply.code(201).send({ cid: record.cid, url: `/storage/ipfs/${record.cid}` })
})

// Closing the app does not stop the engine, which other parts of it may use.
app.addHook('onClose', () => engine.stop())

const url = await app.listen({ port: Number(PORT), host: '127.0.0.1' })
await engine.setPublicUrl(`${url}/storage`)
console.log(`listening on ${url}`)
if (created) {
  const { secret } = await engine.keys.create(account.id, { name: 'first', scopes: SCOPES })
  console.log(`key for ${url}/storage/api/v3: ${secret}`)
}

process.once('SIGINT', () => app.close())
process.once('SIGTERM', () => app.close())
