import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { readFile, truncate, writeFile } from 'node:fs/promises'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import * as dagCbor from '@ipld/dag-cbor'
import { expect, test } from 'vitest'
import { readCar } from '../../../src/index.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { type ServedEngine, serveEngine } from '../../support/served-engine.ts'
import { runHoldfast } from '../../support/server-process.ts'
import { withTempDir } from '../../support/temp-dir.ts'

interface Listed {
  cid: string
  name: string | null
  originalName: string | null
  customName: string | null
  expiresAt: string | null
  meta: Record<string, string>
}

async function run(server: ServedEngine, ...args: string[]) {
  const { code, stdout, stderr } = await runHoldfast([...args, '--json'], server.env)
  const lines = stdout.split('\n').filter(line => line !== '')
  return { code, stderr, lines: lines.map(line => JSON.parse(line)) }
}

async function listOf(server: ServedEngine): Promise<Listed[]> {
  const { lines } = await run(server, 'ls')
  return lines.map(({ cid, name, originalName, customName, expiresAt, meta }: Listed) => {
    return { cid, name, originalName, customName, expiresAt, meta }
  })
}

/** Runs with two servers. The first has a file twice, a directory, and a pin with a timelock. */
function withServers(use: (from: ServedEngine, to: ServedEngine, dir: string) => Promise<void>): Promise<void> {
  return withTempDir(async dir => {
    await using from = await serveEngine(join(dir, 'from'))
    await using to = await serveEngine(join(dir, 'to'))
    await writeFile(join(dir, 'large.bin'), pseudoRandom(3_000_000, 'export'))
    await writeFile(join(dir, 'small.txt'), 'small\n')
    await run(from, 'upload', join(dir, 'large.bin'))
    const [{ cid }] = (await run(from, 'upload', join(dir, 'small.txt'), '--name', 'called so', '--meta', 'of=me'))
      .lines
    await run(from, 'upload', join(dir, 'small.txt'), '--timelock', '2099-01-01T00:00:00Z')
    await run(from, 'pin', cid, '--name', 'mine')
    await use(from, to, dir)
  })
}

test('private pins are exported only if asked for, and stay private', async () => {
  await withServers(async (from, to, dir) => {
    const file = join(dir, 'some.car')
    await writeFile(join(dir, 'secret.txt'), 'a secret\n')
    await run(from, 'upload', join(dir, 'secret.txt'), '--private')
    await run(from, 'upload', join(dir, 'small.txt'), '--private')
    const visible = async (server: ServedEngine) =>
      (await run(server, 'ls')).lines.map(({ cid, visibility }) => [cid, visibility])
    expect(await run(from, 'export', '--all', '--out', file)).toMatchObject({ lines: [{ records: 4, private: 2 }] })
    expect((await readFile(file)).includes('a secret')).toBe(false)
    // The whole account, for which earlier versions find no end.
    const all = join(dir, 'all.car')
    const flags = ['--all', '--include-private', '--out', all]
    expect(await run(from, 'export', ...flags)).toMatchObject({ lines: [{ records: 6, private: 0 }] })
    expect(await versionsIn(all)).toEqual([1, 1, 1, 1, 1, 1, 2])
    expect(await versionsIn(file)).toEqual([1, 1, 1, 1, 1])
    expect(await run(to, 'import', all)).toMatchObject({ code: 0, stderr: '' })
    expect(await visible(to)).toEqual(await visible(from))
  })
})

/** Returns the format of each entry of an export. */
async function versionsIn(file: string): Promise<number[]> {
  const versions: number[] = []
  const { blocks } = await readCar(createReadStream(file))
  for await (const { cid, bytes } of blocks) {
    if (cid.code !== dagCbor.code) continue
    versions.push(dagCbor.decode<{ version: number }>(bytes).version)
  }
  return versions
}

test('an account moves to another server with content, names, meta and timelocks', async () => {
  await withServers(async (from, to, dir) => {
    const file = join(dir, 'all.car')
    expect(await run(from, 'export', '--all', '--out', file)).toMatchObject({ code: 0, lines: [{ records: 4 }] })
    const restored = await run(to, 'import', file)
    expect(restored).toMatchObject({ code: 0, stderr: '' })
    expect(restored.lines.map(({ status }) => status)).toEqual(['pinned', 'pinned', 'pinned', 'pinned'])
    const listed = await listOf(to)
    expect(listed).toEqual(await listOf(from))
    expect(listed.flatMap(({ name, meta }) => (Object.keys(meta).length === 0 ? [] : [[name, meta]]))).toEqual([
      ['called so', { of: 'me' }],
    ])
    const large = listed.find(({ name }) => name === 'large.bin')
    const answer = await fetch(`${to.url}/ipfs/${large?.cid}`)
    expect(Buffer.from(await answer.arrayBuffer()).equals(await readFile(join(dir, 'large.bin')))).toBe(true)
    // A second import changes nothing.
    expect((await run(to, 'import', file)).code).toBe(0)
    expect(await listOf(to)).toEqual(listed)
  })
})

test('a single pin exports to a CAR for any server', async () => {
  await withServers(async (from, to, dir) => {
    const large = (await listOf(from)).find(({ name }) => name === 'large.bin')
    const file = join(dir, 'one.car')
    expect((await run(from, 'export', large?.cid ?? '', '--out', file)).code).toBe(0)
    const sent = await fetch(`${to.url}/api/v3/files/car`, {
      method: 'POST',
      headers: { authorization: `Bearer ${to.key}`, 'content-type': 'application/vnd.ipld.car' },
      body: await readFile(file),
    })
    expect([sent.status, ((await sent.json()) as { cid: string }).cid]).toEqual([201, large?.cid])
  })
})

test('a pin removed during the export is skipped and named', async () => {
  await withServers(async (from, to, dir) => {
    const [small] = (await listOf(from)).filter(({ name }) => name === 'called so')
    assert(small !== undefined)
    let isRemoved = false
    const between = http.createServer(async ({ url = '', headers: { authorization = '' } }, outgoing) => {
      if (url.startsWith('/ipfs/') && !isRemoved) {
        isRemoved = true
        expect((await run(from, 'rm', small.cid)).code).toBe(0)
      }
      const answer = await fetch(from.url + url, { headers: authorization === '' ? {} : { authorization } })
      outgoing.writeHead(answer.status).end(Buffer.from(await answer.arrayBuffer()))
    })
    await once(between.listen(0, '127.0.0.1'), 'listening')
    const { port } = between.address() as AddressInfo
    const file = join(dir, 'rest.car')
    const env = { ...from.env, HOLDFAST_API: `http://127.0.0.1:${port}/api/v3` }
    const { code, stdout, stderr } = await runHoldfast(['export', '--all', '--out', file, '--json'], env)
    between.close().closeAllConnections()
    expect([code, JSON.parse(stdout)]).toMatchObject([1, { records: 1, removed: [small.cid, small.cid, small.cid] }])
    expect(stderr).toBe(`holdfast: left out 3 records removed during the export: ${small.cid}\n`)
    expect((await run(to, 'import', file)).code).toBe(0)
    expect((await listOf(to)).map(({ name }) => name)).toEqual(['large.bin'])
  })
})

test('an incomplete export imports nothing', async () => {
  await withServers(async (from, to, dir) => {
    const file = join(dir, 'cut.car')
    await run(from, 'export', '--all', '--out', file)
    const { length } = await readFile(file)
    for (const bytes of [length - 200, Math.floor(length / 2)]) {
      await truncate(file, bytes)
      const { code, stderr } = await run(to, 'import', file)
      expect([code, /cut short|cannot be read/.test(stderr)]).toEqual([2, true])
    }
    expect(await listOf(to)).toEqual([])
  })
})

test('a pin without a name is exported without one', async () => {
  await withServers(async (from, to, dir) => {
    const form = new FormData()
    form.append('file', new Blob(['nameless']), '')
    const headers = { authorization: `Bearer ${from.key}` }
    const made = await fetch(`${from.url}/api/v3/files`, { method: 'POST', headers, body: form })
    const { cid, name } = (await made.json()) as { cid: string; name: string }
    expect(name).toBe(cid)
    const file = join(dir, 'nameless.car')
    await run(from, 'export', cid, '--out', file)
    // The CID occurs once: as that of the record, and not as its name.
    expect((await readFile(file, 'latin1')).split(cid)).toHaveLength(2)
    expect((await run(to, 'import', file)).code).toBe(0)
  })
})

test('export requires a CID or --all', async () => {
  await withTempDir(async dir => {
    await using server = await serveEngine(join(dir, 'data'))
    expect((await run(server, 'export')).code).toBe(2)
    expect(await run(server, 'export', '--all')).toMatchObject({ code: 1, lines: [] })
  })
})
