import assert from 'node:assert/strict'
import { Session } from 'node:inspector/promises'
import { relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ServedEngine, serveEngine, withoutTimers } from './served-engine.ts'
import { withTempDir } from './temp-dir.ts'

/**
 * Prints, as JSON, the files of `src` and `adapters` that every chunk of an upload and a read passes. A file counts if
 * V8 saw one of its functions called once per chunk. The first request is a warm-up.
 */
const CHUNKS = 96
const CHUNK_BYTES = 1024 ** 2
const ROOT = fileURLToPath(new URL('../../', import.meta.url))

const session = new Session()

let fills = 0
let cid = ''

async function upload({ url, key }: ServedEngine): Promise<void> {
  const bytes = new Uint8Array(CHUNKS * CHUNK_BYTES)
  for (let chunk = 0; chunk < CHUNKS; chunk++) new DataView(bytes.buffer).setUint32(chunk * CHUNK_BYTES, ++fills)
  const body = new FormData()
  body.append('file', new Blob([bytes]), 'file')
  const headers = { authorization: `Bearer ${key}` }
  const response = await fetch(`${url}/api/v3/files`, { method: 'POST', body, headers })
  assert.equal(response.status, 201)
  cid = ((await response.json()) as { cid: string }).cid
}

async function read({ url }: ServedEngine): Promise<void> {
  const response = await fetch(`${url}/ipfs/${cid}`)
  assert.equal((await response.arrayBuffer()).byteLength, CHUNKS * CHUNK_BYTES)
}

async function crossed(served: ServedEngine, request: (served: ServedEngine) => Promise<void>): Promise<string[]> {
  await request(served)
  // The warm-up does not count.
  await session.post('Profiler.takePreciseCoverage')
  await request(served)
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const files = result.flatMap(({ url, functions }) => {
    const isPassed = functions.some(({ ranges: [whole] }) => (whole?.count ?? 0) >= CHUNKS)
    return isPassed && url.startsWith('file:') ? [relative(ROOT, fileURLToPath(url)).replaceAll(sep, '/')] : []
  })
  return files.filter(file => /^(src|adapters)\//.test(file)).sort()
}

await withTempDir(async dataDir => {
  await using served = await serveEngine(dataDir, { clock: withoutTimers })
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  const walks = { upload: await crossed(served, upload), read: await crossed(served, read) }
  process.stdout.write(JSON.stringify(walks))
})
