import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import type http from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createServer } from '../../../adapters/node-http/index.ts'
import { createEngine, type Engine } from '../../../src/index.ts'
import { newDirectory } from '../../support/new-database.ts'

const KEY = 'a-key-for-tests-of-hanging-up-0123456789'

let dataDir: string
let engine: Engine
let server: http.Server
let port: number
let account: string
let onRequestLogged: (status: number) => void

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'holdfast-hang-up-'))
  const ignore = (): void => {}
  const info = (fields: object): void => {
    if ('status' in fields) onRequestLogged(Number(fields.status))
  }
  engine = await createEngine({
    dataDir: newDirectory(dataDir),
    logger: { debug: ignore, info, warn: ignore, error: info },
  })
  account = (await engine.accounts.create({ email: 'someone@example.org', plan: 'unlimited' })).id
  await engine.keys.adopt(account, 'main', KEY)
  server = createServer(engine)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  port = typeof address === 'object' && address !== null ? address.port : 0
})

afterEach(async () => {
  server.closeAllConnections()
  server.close()
  await engine.stop()
  await rm(dataDir, { recursive: true, force: true })
})

/** Sends a request whose body stops short of its announced length, then hangs up. Resolves with the logged status. */
async function hangUp(path: string, body: Buffer): Promise<number> {
  const logged = Promise.withResolvers<number>()
  onRequestLogged = logged.resolve
  const socket = connect(port, '127.0.0.1')
  const head = `POST /api/v3${path} HTTP/1.1\r\nHost: h\r\nX-API-Key: ${KEY}\r\n`
  socket.write(`${head}Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 90000000\r\n\r\n`)
  await new Promise(resolve => socket.write(body, resolve))
  socket.destroy()
  return logged.promise
}

function part(disposition: string, size: number): Buffer {
  const head = `--b\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`
  return Buffer.concat([Buffer.from(head), Buffer.alloc(size, 7), Buffer.from('\r\n')])
}

test.each([
  ['in the headers of the first part', '/files', Buffer.from('--b\r\nContent-Dispo')],
  ['in the middle of a file', '/files', part('name="file"; filename="f"', 3_000_000).subarray(0, 2_500_000)],
  ['behind the file', '/files', part('name="file"; filename="f"', 3_000_000)],
  [
    'in the second file of a directory',
    '/files/directory-dag',
    Buffer.concat([
      part('name="files"; filename="a"', 1_500_000),
      part('name="files"; filename="b"', 1_500_000).subarray(0, 1_000_000),
    ]),
  ],
])('a client that hangs up %s leaves nothing behind', async (_, path, body) => {
  expect(await hangUp(path, body)).toBe(499)
  expect((await engine.pins.list({ account })).total).toBe(0)
  expect(await engine.pins.usage(account)).toEqual({ pins: 0, storedBytes: 0, keptBytes: 0 })
  // The node goes on, and the same content can be sent again.
  const form = new FormData()
  form.append('file', new Blob([Buffer.alloc(3_000_000, 7)]), 'f')
  onRequestLogged = () => {}
  const answer = await fetch(`http://127.0.0.1:${port}/api/v3/files`, {
    method: 'POST',
    headers: { 'x-api-key': KEY },
    body: form,
  })
  expect(answer.status).toBe(201)
})
