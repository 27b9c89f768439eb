// Holdfast inside an app's own HTTP server:
//
//   npm install holdfast
//   node embed-node-http.js
//
// The app keeps notes as pinned content by calling the engine directly. Everything below /storage is Holdfast's: the API
// at /storage/api/v3, content at /storage/ipfs/.

import { createServer } from 'node:http'
import { createEngine, SCOPES } from 'holdfast'
import { createHandler } from 'holdfast/node-http'

const { PORT = '3000', DATA_DIR = './holdfast-data' } = process.env

const engine = await createEngine({ dataDir: DATA_DIR })
const { account, created } = await engine.accounts.ensureOwner()
const storage = createHandler(engine, { prefix: '/storage' })

const server = createServer(async (request, response) => {
  if (request.url.startsWith('/storage/')) return storage(request, response)
  if (request.url !== '/notes') return answer(response, 404, { error: 'not found' })
  if (request.method === 'GET') return answer(response, 200, await notes())
  if (request.method === 'POST') return answer(response, ...(await keep(request)))
  answer(response, 405, { error: 'notes can be listed and posted' })
})

server.listen(Number(PORT), '127.0.0.1', async () => {
  const url = `http://127.0.0.1:${server.address().port}`
  await engine.setPublicUrl(`${url}/storage`)
  console.log(`listening on ${url}`)
  if (created) {
    const { secret } = await engine.keys.create(account.id, { name: 'first', scopes: SCOPES })
    console.log(`key for ${url}/storage/api/v3: ${secret}`)
  }
})

process.once('SIGINT', stop)
process.once('SIGTERM', stop)

async function notes() {
  const { items } = await engine.pins.list({ account: account.id })
  return items.map(({ name, cid }) => ({ name, url: `/storage/ipfs/${cid}` }))
}

/** A request is a stream of bytes, so it can be handed to the engine as it is. */
async function keep(request) {
  try {
    const { record } = await engine.pins.upload(request, { account: account.id, name: 'note.txt' })
    return [201, { cid: record.cid, url: `/storage/ipfs/${record.cid}` }]
  } catch (error) {
    return [400, { error: error.message, code: error.code }]
  }
}

function answer(response, status, body) {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(`${JSON.stringify(body)}\n`)
}

function stop() {
  server.close(() => engine.stop())
  server.closeIdleConnections()
}
