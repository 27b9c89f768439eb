import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { linkPackage } from '../support/linked-package.ts'

const DOCUMENT = join(import.meta.dirname, '../../docs/reference/embedding.md')
const PACKAGES = ['express', 'koa', 'fastify', 'hono', '@hono/node-server']

/** A program that uses the server of a recipe as clients would, and prints the results. */
const VISITOR = `
import { once } from 'node:events'
import { SCOPES } from 'holdfast'
import { engine } from './engine.js'
import * as recipe from './RECIPE'

const { account } = await engine.accounts.ensureOwner()
const { secret } = await engine.keys.create(account.id, { name: 'visitor', scopes: SCOPES })
const { server } = recipe
if (server !== undefined && !server.listening) await once(server, 'listening')
const url = server === undefined ? 'http://localhost' : 'http://127.0.0.1:' + server.address().port
const ask = server === undefined
  ? (path, init = {}) => recipe[init.method ?? 'GET'](new Request(url + path, init))
  : (path, init) => fetch(url + path, init)
const form = new FormData()
form.append('file', new Blob(['a file']), 'a.txt')
const made = await ask('/storage/api/v3/files', { method: 'POST', headers: { 'x-api-key': secret }, body: form })
const { cid } = await made.json()
const said = [made.status, await (await ask('/storage/ipfs/' + cid)).text(), (await ask('/storage/nothing')).status]
if (server !== undefined) said.push(await (await ask('/own')).text())
console.log(JSON.stringify(said))
server?.closeAllConnections()
server?.close()
await engine.stop()
`

let dir: string
let blocks: Map<string, string>

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'holdfast-embedding-'))
  await linkPackage(dir, PACKAGES)
  const text = await readFile(DOCUMENT, 'utf8')
  blocks = new Map([...text.matchAll(/```js (\S+)\n([\s\S]+?)```/g)].map(([, name = '', code = '']) => [name, code]))
  for (const [name, code] of blocks) await writeFile(join(dir, name), code.replace('3000', '0'))
})
afterEach(() => rm(dir, { recursive: true, force: true }))

async function run(file: string): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd: dir, timeout: 60_000 })
  return stdout
}

const SERVED = ['express.js', 'koa.js', 'fastify.js', 'hono.js', 'route.js']
const SCRIPTS: Record<string, RegExp> = {
  'console.js': /^200 text\/html; charset=utf-8\n$/,
  'clusters.js': /^near far\n$/,
  'sources.js': /^bafkrei\w+ 2 4\n$/,
  'reading.js': /^13 text\/plain; charset=utf-8 reader\nhello\.txt file 13\n$/,
  'single-user.js': /^note\.txt true\n$/,
  'jobs.js': /^(\d of 2\n)*2 0 2\n$/,
  'errors.js': /^INVALID_CID\n$/,
  'events.js': /^created note\.txt\n$/,
}

describe('docs/reference/embedding.md', () => {
  test('has only blocks that these tests run', () => {
    expect([...blocks.keys()].toSorted()).toEqual(['engine.js', ...SERVED, ...Object.keys(SCRIPTS)].toSorted())
  })

  test.each(SERVED)('%s serves the engine, and the app beside it', async name => {
    await writeFile(join(dir, 'visitor.js'), VISITOR.replace('RECIPE', name))
    const app = name === 'route.js' ? [] : ['the app']
    expect(JSON.parse(await run('visitor.js'))).toEqual([201, 'a file', 404, ...app])
  })

  test.each(Object.entries(SCRIPTS))('%s prints what the page says', async (name, output) => {
    expect(await run(name)).toMatch(output)
  })
})
