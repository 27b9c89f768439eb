import { createServer } from 'node:http'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { unixfs } from '@helia/unixfs'
import { createVerifiedFetchWithHelia } from '@helia/verified-fetch'
import { FsBlockstore } from 'blockstore-fs'
import { LevelDatastore } from 'datastore-level'
import { createHeliaLight } from 'helia'
import { serveUntilStopped } from './serve-until-stopped.ts'

const dir = process.argv[2] ?? '.'
const blockstore = new FsBlockstore(join(dir, 'blocks'))
const datastore = new LevelDatastore(join(dir, 'datastore'))
await blockstore.open()
await datastore.open()
const helia = createHeliaLight({ blockstore, datastore })
await helia.start()
const verifiedFetch = await createVerifiedFetchWithHelia(helia)

serveUntilStopped(
  createServer(async (request, response) => {
    try {
      if (request.method === 'PUT') {
        const cid = await unixfs(helia).addByteStream(request)
        response.writeHead(201).end(`/${cid}`)
        return
      }
      // Sessions search for peers, and this node has none.
      const answer = await verifiedFetch(`ipfs:/${request.url}`, { session: false })
      const headers = Object.fromEntries(answer.headers)
      response.writeHead(answer.status, headers)
      if (answer.body === null) response.end()
      else await pipeline(Readable.fromWeb(answer.body), response)
    } catch (error) {
      response.destroy(error instanceof Error ? error : undefined)
    }
  }),
  async () => {
    await verifiedFetch.stop()
    await blockstore.close()
    await datastore.close()
  },
)
