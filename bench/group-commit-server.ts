// A program: the least that a node on PostgreSQL must do for an upload. It syncs the bytes of all waiting requests with
// one write to a file, in place of the ledger. Then one statement inserts a row for each, in place of the catalogue.
// Arguments: a directory, and the URL of an empty database.
import { createHash, randomUUID } from 'node:crypto'
import { open } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import pg from 'pg'
import { serveUntilStopped } from './serve-until-stopped.ts'

interface Waiting {
  bytes: Buffer
  response: ServerResponse
}

const [dir = '.', database = ''] = process.argv.slice(2)
const ledger = await open(join(dir, randomUUID()), 'a')
const client = new pg.Client({ connectionString: database })
await client.connect()
await client.query('CREATE TABLE uploads (id TEXT PRIMARY KEY, multihash BYTEA NOT NULL)')
const insert = { name: 'insert', text: 'INSERT INTO uploads SELECT * FROM unnest($1::text[], $2::bytea[])' }

let waiting: Waiting[] = []
let isRunning = false

async function store(): Promise<void> {
  if (isRunning) return
  isRunning = true
  while (waiting.length > 0) {
    const group = waiting
    waiting = []
    const hashes = group.map(({ bytes }) => createHash('sha256').update(bytes).digest())
    await ledger.writev(group.map(({ bytes }) => bytes))
    await ledger.datasync()
    await client.query({ ...insert, values: [group.map(() => randomUUID()), hashes] })
    for (const [i, { response }] of group.entries()) {
      response.writeHead(201).end(JSON.stringify({ sha256: hashes[i]?.toString('hex') }))
    }
  }
  isRunning = false
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    waiting.push({ bytes: Buffer.concat(chunks), response })
    // The requests of one turn of the loop share a group.
    setImmediate(() => void store())
  })
})
serveUntilStopped(server, async () => {
  await client.end()
  await ledger.close()
})
