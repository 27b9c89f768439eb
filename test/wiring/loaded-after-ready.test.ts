import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { watch, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, describe, expect, test } from 'vitest'
import { ServerProcess } from '../support/server-process.ts'
import { withTempDir } from '../support/temp-dir.ts'

const SUPPORT = join(import.meta.dirname, '../support')
const PRELOADED = ['--import', pathToFileURL(join(SUPPORT, 'loaded-files.ts')).href]
const METHODS = ['get', 'put', 'post', 'patch', 'delete']

interface OpenApi {
  paths: Record<string, Record<string, unknown>>
}

afterEach(() => ServerProcess.killAll())

describe('a server that is ready', () => {
  test('loads no file for any audit of the contract', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [join(SUPPORT, 'audited-server.ts')])
    const { audits, after } = JSON.parse(stdout) as { audits: number; after: string[] }
    expect(audits).toBeGreaterThan(150)
    expect(after).toEqual([])
  })

  test('loads no file for requests to routes, console and gateway', async () => {
    await withTempDir(async dir => {
      const config = join(dir, 'holdfast.json')
      await writeFile(config, JSON.stringify({ network: { enabled: false }, backupRoots: [join(dir, 'backups')] }))
      const path = join(dir, 'loaded')
      const args = ['--config', config, '--gateway-port', '0']
      const server = await ServerProcess.start(join(dir, 'data'), args, { LOADED_FILES: path }, 60_000, PRELOADED)
      await server.until(/shown only this once: \S+\n/)
      const key = /shown only this once: (\S+)\n/.exec(server.stdout)?.[1] ?? ''
      const gateway = /^gateway base +(\S+)$/m.exec(server.stdout)?.[1] ?? ''
      const { cid, send } = await uploaded(server, key)
      // The first connection starts the threads.
      await fetch(`${gateway}${cid}`)
      while (readers(path).length === 0) await nextLine(path)
      for (const format of ['', '?format=raw', '?format=car', '?format=tar']) {
        const { status } = await fetch(`${gateway}${cid}${format}`, { headers: { connection: 'close' } })
        expect(status).toBe(200)
      }
      expect(await send('POST', '/admin/v1/backup', { directory: join(dir, 'backups', 'one') })).toBe(200)
      await everyRequest(server, cid, send)
      await server.stop()
      expect([0, ...readers(path)].flatMap(thread => afterListening(path, thread))).toEqual([])
    })
  })
})

interface Line {
  thread: number
  text: string
}

function linesOf(path: string): Line[] {
  const lines = readFileSync(path, 'utf8').trim().split('\n')
  return lines.map(line => ({ thread: Number.parseInt(line, 10), text: line.slice(line.indexOf(' ') + 1) }))
}

/** Resolves when a thread has written a line. */
async function nextLine(path: string): Promise<void> {
  for await (const _ of watch(path)) return
}

/** Returns the numbers of the threads that serve the gateway. */
function readers(path: string): number[] {
  return linesOf(path).flatMap(({ thread, text }) => (thread > 0 && text === 'listens' ? thread : []))
}

/** Returns the files that a thread loaded after it listened for the last time. */
function afterListening(path: string, thread: number): string[] {
  const lines = linesOf(path).filter(line => line.thread === thread)
  return lines.slice(lines.findLastIndex(({ text }) => text === 'listens') + 1).map(({ text }) => text)
}

type Send = (method: string, path: string, body?: object) => Promise<number>

/** Uploads a file. Returns its CID, and a function that sends requests to the API. */
async function uploaded(server: ServerProcess, key: string): Promise<{ cid: string; send: Send }> {
  const headers = { authorization: `Bearer ${key}` }
  const json = { ...headers, 'content-type': 'application/json' }
  const form = new FormData()
  form.append('file', new Blob(['hello']), 'hello.txt')
  const answer = await fetch(`${server.api}/files`, { method: 'POST', headers, body: form })
  const { cid } = (await answer.json()) as { cid: string }
  const send: Send = async (method, path, given) => {
    const rest = given === undefined ? { headers } : { headers: json, body: JSON.stringify(given) }
    return (await fetch(server.url + path, { method, ...rest })).status
  }
  return { cid, send }
}

/** Sends a request to each route, after those that need more than a CID. */
async function everyRequest(server: ServerProcess, cid: string, send: Send): Promise<void> {
  expect(await send('GET', '/api/v3/users/me/uploads?q=hello&sort=name')).toBe(200)
  expect(await send('POST', '/admin/v1/verify', {})).toBe(200)
  expect(await send('POST', '/admin/v1/reconcile', {})).toBe(200)
  const openApi = (await (await fetch(`${server.api}/openapi.json`)).json()) as OpenApi
  let routes = 0
  for (const [path, operations] of Object.entries(openApi.paths)) {
    const filled = path.replaceAll(/\{[^}]+\}/g, cid)
    for (const method of METHODS.filter(name => name in operations)) {
      routes++
      await send(method.toUpperCase(), filled, method === 'get' ? undefined : {})
    }
  }
  expect(routes).toBeGreaterThan(60)
  expect((await fetch(`${server.url}/console/`)).status).toBe(200)
}
