import assert from 'node:assert/strict'
import { Session } from 'node:inspector/promises'
import { relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ServedEngine, serveEngine, withoutTimers } from './served-engine.ts'
import { withTempDir } from './temp-dir.ts'

/**
 * Prints, as JSON, the files of `src` and `adapters` that each kind of request passes. A file counts if V8 saw one of
 * its functions called during every request, which excludes background work. The first requests are a warm-up.
 */
const REQUESTS = 4
const ROOT = fileURLToPath(new URL('../../', import.meta.url))

const session = new Session()
let fills = 0
const cids: string[] = []

type Ask = (served: ServedEngine) => Promise<void>

async function call({ url, key }: ServedEngine, path: string, init: RequestInit, status: number): Promise<Response> {
  const headers = { authorization: `Bearer ${key}`, ...(init.headers as Record<string, string> | undefined) }
  const response = await fetch(url + path, { ...init, headers })
  assert.equal(response.status, status, path)
  return response
}

async function upload(served: ServedEngine): Promise<void> {
  const body = new FormData()
  body.append('file', new Blob([`file ${++fills}`]), `${fills}.txt`)
  const response = await call(served, '/api/v3/files', { method: 'POST', body }, 201)
  cids.push(((await response.json()) as { cid: string }).cid)
}

async function read({ url }: ServedEngine): Promise<void> {
  const response = await fetch(`${url}/ipfs/${cids.at(-1)}`)
  assert.match(await response.text(), /^file /)
}

async function list(served: ServedEngine): Promise<void> {
  // Another page size for each request uses no cached answer.
  await (await call(served, `/api/v3/users/me/uploads?limit=${10 + (fills++ % 50)}`, {}, 200)).json()
}

async function pin(served: ServedEngine): Promise<void> {
  const cid = cids.shift()
  cids.push(cid ?? '')
  await (await call(served, `/api/v3/files/pin/${cid}`, { method: 'POST' }, 201)).json()
}

async function remove(served: ServedEngine): Promise<void> {
  await call(served, `/api/v3/files/remove/${cids.pop()}`, { method: 'DELETE' }, 200)
}

async function passed(served: ServedEngine, ask: Ask): Promise<Set<string>> {
  await session.post('Profiler.takePreciseCoverage')
  await ask(served)
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const files = result.flatMap(({ url, functions }) => {
    const isPassed = functions.some(({ ranges: [whole] }) => (whole?.count ?? 0) > 0)
    return isPassed && url.startsWith('file:') ? [relative(ROOT, fileURLToPath(url)).replaceAll(sep, '/')] : []
  })
  return new Set(files.filter(file => /^(src|adapters)\//.test(file)))
}

async function walk(served: ServedEngine, ask: Ask): Promise<string[]> {
  await ask(served)
  let files = [...(await passed(served, ask))]
  for (let request = 1; request < REQUESTS; request++) {
    const again = await passed(served, ask)
    files = files.filter(file => again.has(file))
  }
  return files.sort()
}

await withTempDir(async dataDir => {
  await using served = await serveEngine(dataDir, { clock: withoutTimers })
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  const walks: Record<string, string[]> = {}
  for (const [name, ask] of Object.entries({ upload, read, list, pin, remove })) walks[name] = await walk(served, ask)
  process.stdout.write(JSON.stringify(walks))
})
