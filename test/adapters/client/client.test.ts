import { openAsBlob } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import http from 'node:http'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HoldfastClient, type ListedUpload, type ListOptions, type Upload } from '../../../adapters/client/index.ts'
import { collect, pseudoRandom } from '../../support/bytes.ts'
import { type ServedEngine, serveEngine } from '../../support/served-engine.ts'
import { temporaryDirectory } from '../../support/server-process.ts'

let directory: ReturnType<typeof temporaryDirectory>
let served: ServedEngine
let client: HoldfastClient

beforeAll(async () => {
  directory = temporaryDirectory()
  served = await serveEngine(join(directory.path, 'data'))
  client = new HoldfastClient({ base: served.url, key: served.key })
})
afterAll(async () => {
  await served[Symbol.asyncDispose]()
  directory.remove()
})

async function textOf(place: string): Promise<string> {
  return (await collect((await client.content.file(place)).stream)).toString()
}

async function listed(options: ListOptions) {
  const rows: ListedUpload[] = []
  for await (const row of client.pins.all(options)) rows.push(row)
  return rows
}

/** Returns a web stream that only its reader reads. */
function readable(text: string) {
  const stream = new Blob([text]).stream()
  return { getReader: () => stream.getReader() }
}

describe('files', () => {
  test('upload from every kind of source, and read back', async () => {
    const file = join(directory.path, 'on-disk.txt')
    await writeFile(file, 'on disk')
    const sources: [string, Parameters<typeof client.files.upload>[0]][] = [
      ['tëxt', 'tëxt'],
      ['bytes', Buffer.from('bytes')],
      ['buffer', new TextEncoder().encode('buffer').buffer as ArrayBuffer],
      ['blob', new Blob(['blob'])],
      ['on disk', await openAsBlob(file)],
      ['stream', new Blob(['stream']).stream()],
      // Some browsers cannot iterate a stream.
      ['reader', readable('reader')],
      ['sized', { size: 5, stream: () => readable('sized') }],
      [
        'pieces',
        (async function* () {
          yield Buffer.from('pie')
          yield Buffer.from('ces')
        })(),
      ],
    ]
    for (const [text, source] of sources) {
      const upload = await client.files.upload(source, { name: 'it.txt' })
      expect(upload).toMatchObject({ name: 'it.txt', status: 'pinned', size: Buffer.byteLength(text), expiresAt: null })
      expect(await textOf(upload.cid)).toBe(text)
    }
    expect(await client.files.upload(new File(['x'], 'own name.txt'))).toMatchObject({ name: 'own name.txt' })
  })

  test('take a cluster and an expiry', async () => {
    const timelock = new Date('2099-01-01T00:00:00Z')
    const kept = await client.files.upload('kept for long', { cluster: 'cl1-eu', timelock })
    expect(kept).toMatchObject({ clusterId: 'cl1-eu', expiresAt: '2099-01-01T00:00:00.000Z' })
    await expect(client.files.upload('x', { cluster: 'cl9-nowhere' })).rejects.toMatchObject({
      code: 'CLUSTER_NOT_ALLOWED',
      details: { status: 403 },
    })
    await expect(client.files.upload('x', { timelock: new Date('never') })).rejects.toMatchObject({
      code: 'INVALID_TIMELOCK',
    })
  })

  test('make a directory, which another server imports as a CAR', async () => {
    const files = [
      { path: 'index.html', content: '<h1>here</h1>' },
      { path: 'ü ñ/"日本".txt', content: new Blob(['names']) },
    ]
    const made = await client.files.uploadDirectory(files, { name: 'site' })
    expect(made).toMatchObject({ name: 'site', type: 'directory', total_files: 2 })
    expect(await textOf(`/ipfs/${made.cid}/ü ñ/"日本".txt`)).toBe('names')
    await expect(client.content.file(made.cid)).rejects.toMatchObject({ code: 'VALIDATION' })
    const inside = (await listed({ parentCid: made.cid })).map(({ path }) => path)
    expect(inside.toSorted()).toEqual(['index.html', 'ü ñ/"日本".txt'])

    const other = await serveEngine(join(directory.path, 'other'))
    try {
      const there = new HoldfastClient({ base: `${other.url}/api/v3/`, key: other.key })
      const car = await client.content.archive(made.cid, 'car')
      expect(await there.files.importCar(car, { name: 'moved' })).toMatchObject({
        ...{ cid: made.cid, name: 'moved', status: 'pinned' },
        roots: [{ cid: made.cid, missing: null }],
      })
    } finally {
      await other[Symbol.asyncDispose]()
    }
    const tar = await collect(await client.content.archive(made.cid, 'tar'))
    expect(tar.includes('<h1>here</h1>')).toBe(true)
  })
})

describe('pins', () => {
  test('are created, shown, renamed, listed and removed', async () => {
    const { cid } = await client.files.upload('to be pinned', { name: 'first' })
    const pin = await client.pins.add(cid, { name: 'second', cluster: 'cl2-de' })
    expect(pin).toMatchObject({ cid, customName: 'second', clusterId: 'cl2-de', pinned: true })
    expect(await client.pins.untilPinned(pin)).toBe(pin)
    expect(await client.pins.status(cid, { cluster: 'cl2-de' })).toMatchObject({ status: 'pinned', blocks: 1 })
    expect(await client.pins.rename(pin.uploadId, 'third')).toEqual({ updated: true, newName: 'third' })
    const rows = await listed({ cid })
    expect(rows.map(({ name }) => name)).toEqual(['third', 'first'])
    const changed = await client.pins.rename(pin.uploadId, undefined, { meta: { kept: 'with it' } })
    expect(changed).toEqual({ updated: true, newName: 'third', meta: { kept: 'with it' } })
    const search = { q: 'THIRD', meta: { kept: 'with it' }, type: ['pin', 'file'], status: 'pinned' } as const
    expect((await listed({ ...search, before: new Date('2099-01-01') })).map(({ name }) => name)).toEqual(['third'])
    expect(await listed({ ...search, after: new Date('2099-01-01') })).toEqual([])
    expect(await client.pins.page(1, { cid, limit: 1 })).toMatchObject({ total: 2, pagination: { totalPages: 2 } })
    await client.pins.remove(cid, { cluster: 'cl2-de' })
    await client.pins.remove(cid)
    await expect(client.pins.remove(cid)).rejects.toMatchObject({ code: 'PIN_NOT_FOUND', details: { status: 404 } })
    await expect(client.pins.status(' ')).rejects.toMatchObject({ code: 'VALIDATION' })
  })

  // feature: bulk
  test('are deleted and restored by jobs', async () => {
    const { cid, uploadId = '' } = await client.files.upload('for a job', { name: 'for a job' })
    const seen: string[] = []
    const onProgress = ({ state }: { state: string }): void => void seen.push(state)
    const byId = await client.jobs.untilEnded(await client.jobs.deleteRecords([uploadId]), { onProgress })
    expect([byId.state, byId.done, seen[0]]).toEqual(['done', 1, 'running'])
    await expect(client.pins.status(cid)).rejects.toMatchObject({ code: 'PIN_NOT_FOUND' })
    expect((await client.jobs.untilEnded(await client.jobs.undo(byId.id))).restored).toBe(1)
    const filter = { q: 'FOR A JOB', status: 'pinned' as const, createdBefore: new Date(Date.now() + 60_000) }
    await expect(client.jobs.deleteMatching({ ...filter, expected: 7 })).rejects.toMatchObject({ code: 'CONFLICT' })
    const byFilter = await client.jobs.untilEnded(await client.jobs.deleteMatching({ ...filter, expected: 1 }))
    expect(byFilter).toMatchObject({ action: 'delete', total: 1, done: 1, failed: 0 })
    await expect(client.jobs.get('none')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
  // end

  test('are listed page by page, once each', async () => {
    const timelock = '2098-01-01T00:00:00.000Z'
    for (let i = 0; i < 5; i++) await client.files.upload(`row ${i}`, { name: `row ${i}`, timelock })
    const ending = { expiring: true, limit: 2 }
    const rows = await listed(ending)
    const named = rows.filter(({ expiresAt }) => expiresAt === timelock).map(({ name }) => name)
    expect(named).toEqual(['row 4', 'row 3', 'row 2', 'row 1', 'row 0'])
  })
})

test('the account, its clusters and its keys', async () => {
  expect(await client.account.show()).toMatchObject({ role: 'owner', plan: 'unlimited' })
  expect((await client.account.clusters()).map(({ id }) => id)).toContain('cl0-global')
  const made = await client.keys.create({ name: 'reader', scopes: ['files:read'], expiresInDays: 1 })
  const reader = new HoldfastClient({ base: served.url, key: made.token })
  await expect(reader.files.upload('x')).rejects.toMatchObject({
    code: 'missing_scope',
    details: { status: 403, required: 'files:write' },
  })
  expect((await client.keys.list()).map(({ name }) => name)).toContain('reader')
  await client.keys.revoke('reader')
  await expect(reader.account.show()).rejects.toMatchObject({ code: 'INVALID_API_KEY' })
})

describe('reading', () => {
  const bytes = pseudoRandom(3_000_000, 'resumed')
  let upload: Upload
  beforeAll(async () => {
    upload = await client.files.upload(bytes, { name: 'large.bin' })
  })

  test('a part of a file', async () => {
    const part = await client.content.file(upload.cid, { range: { start: 10, end: 2_000_000 } })
    expect(part.size).toBe(1_999_990)
    expect((await collect(part.stream)).equals(bytes.subarray(10, 2_000_000))).toBe(true)
    const rest = await client.content.file(upload.cid, { range: { start: 2_999_999 } })
    expect((await collect(rest.stream)).equals(bytes.subarray(2_999_999))).toBe(true)
    for (const range of [{ start: -1 }, { start: 1.5 }, { start: 2, end: 2 }]) {
      await expect(client.content.file(upload.cid, { range })).rejects.toMatchObject({ code: 'VALIDATION' })
    }
    await expect(client.content.file(upload.cid, { range: { start: 4_000_000 } })).rejects.toMatchObject({
      details: { status: 416 },
    })
  })

  test('gives streams that a response sends, and that can be cancelled', async () => {
    const whole = new Response((await client.content.file(upload.cid)).stream)
    expect(Buffer.from(await whole.arrayBuffer()).equals(bytes)).toBe(true)
    const car = new Response(await client.content.archive(upload.cid, 'car'))
    expect((await car.arrayBuffer()).byteLength).toBeGreaterThan(bytes.length)
    const { stream } = await client.content.file(upload.cid)
    const reader = stream.getReader()
    expect((await reader.read()).done).toBe(false)
    await reader.cancel()
    expect((await reader.read()).done).toBe(true)
  })

  test('resumes after a broken connection, and only then', async () => {
    await using cutter = await cuttingProxy(served.url, 700_000)
    const waits: number[] = []
    const through = new HoldfastClient({ base: cutter.url, wait: async ms => waits.push(ms) })
    const read = await collect((await through.content.file(upload.cid)).stream)
    expect(read.equals(bytes)).toBe(true)
    expect(cutter.ranges[0]).toBeUndefined()
    expect(cutter.ranges.length).toBeGreaterThan(3)
    expect(cutter.ranges.slice(1).every(range => /^bytes=\d+-2999999$/.test(range ?? ''))).toBe(true)
    // The length of an archive is unknown in advance, so a broken connection is an error.
    const car = await through.content.archive(upload.cid, 'car')
    await expect(collect(car)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  })

  test('needs no credential, and missing content has its error code', async () => {
    const anyone = new HoldfastClient({ base: served.url })
    expect((await anyone.content.file(upload.cid)).size).toBe(3_000_000)
    const nowhere = 'bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'
    await expect(anyone.content.file(nowhere)).rejects.toMatchObject({ details: { status: 404 } })
    await expect(anyone.content.file('/ipfs/')).rejects.toMatchObject({ code: 'VALIDATION' })
  })
})

/** Proxies a server, and cuts every connection after so many bytes of answers. */
async function cuttingProxy(target: string, bytes: number) {
  const ranges: (string | undefined)[] = []
  const sockets = new Set<Socket>()
  const proxy = http.createServer((request, response) => {
    ranges.push(request.headers.range)
    const upstream = http.request(new URL(request.url ?? '', target), { headers: request.headers }, answer => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      let left = bytes
      answer.on('data', (chunk: Buffer) => {
        left -= chunk.length
        response.write(chunk)
        if (left < 0) {
          upstream.destroy()
          response.destroy()
        }
      })
      answer.on('end', () => response.end()).on('error', () => response.destroy())
    })
    upstream.on('error', () => response.destroy()).end()
  })
  proxy.on('connection', socket => sockets.add(socket))
  await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve))
  const address = proxy.address()
  const url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy()
    proxy.close()
  }
  return { url, ranges, [Symbol.asyncDispose]: close }
}
