import { once } from 'node:events'
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import http, { type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { ApiClient, jsonBody } from '../../../adapters/cli/api-client.ts'
import { exchange } from '../../../adapters/cli/http-exchange.ts'
import { ProgressBar } from '../../../adapters/cli/progress-bar.ts'
import { formatBytes, formatTable } from '../../../adapters/cli/text.ts'
import { uploadForm } from '../../../adapters/cli/upload-form.ts'
import { collect } from '../../support/bytes.ts'
import { runHoldfast } from '../../support/server-process.ts'

const servers: http.Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

/** A server that answers requests one after the other as it is told to, and what it has seen. */
async function script(...answers: RequestListener[]) {
  const seen: string[] = []
  const server = http.createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`)
    const answer = answers[Math.min(seen.length, answers.length) - 1]
    answer?.(request, response)
  })
  servers.push(server.listen(0, '127.0.0.1'))
  await once(server, 'listening')
  const waits: number[] = []
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v3`
  const client = new ApiClient({ base, key: 'secret' }, { wait: async ms => waits.push(ms) })
  /** Runs a command on the server. */
  const run = (...args: string[]) => runHoldfast([...args, '--api', base, '--key', 'secret'])
  return { client, seen, waits, run }
}

const say =
  (status: number, body: string, headers: Record<string, string> = {}): RequestListener =>
  (request, response) => {
    request.resume()
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
  }
const hangUp: RequestListener = request => request.socket.destroy()
const limited = say(429, '{"message": "slow down", "code": "RATE_LIMIT"}', { 'retry-after': '7' })

describe('the client of the API', () => {
  test('waits once for as long as the rate limit asks, whatever the request', async () => {
    const { client, seen, waits } = await script(limited, say(201, '{"cid": "x"}'))
    expect(await client.request('POST', '/files/pin/x', { body: jsonBody({}) })).toEqual({ cid: 'x' })
    expect(waits).toEqual([7_000])
    expect(seen).toEqual(['POST /api/v3/files/pin/x', 'POST /api/v3/files/pin/x'])

    const again = await script(limited)
    await expect(again.client.request('GET', '/status/x')).rejects.toThrow('slow down (429 RATE_LIMIT)')
    expect(again.waits).toEqual([7_000])
  })

  test('does not wait for hours', async () => {
    const { client, waits } = await script(say(429, '{"message": "no"}', { 'retry-after': '86400' }))
    await expect(client.request('GET', '/status/x')).rejects.toThrow('no (429)')
    expect(waits).toEqual([])
  })

  test('sends reads again, and nothing else', async () => {
    const reading = await script(hangUp, say(503, '{"message": "starting"}'), say(200, '{"total": 1}'))
    expect(await reading.client.request('GET', '/users/me/uploads')).toEqual({ total: 1 })
    expect(reading.waits).toHaveLength(2)

    const down = await script(hangUp)
    await expect(down.client.request('GET', '/users/me/uploads')).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(down.seen).toHaveLength(3)

    for (const method of ['POST', 'DELETE']) {
      const writing = await script(hangUp, say(200, '{}'))
      await expect(writing.client.request(method, '/files/remove/x')).rejects.toMatchObject({ code: 'UNAVAILABLE' })
      expect(writing.seen).toHaveLength(1)
    }
  })

  test('says what is wrong with answers that are none of the contract’s', async () => {
    const cases: [RequestListener, RegExp][] = [
      [say(200, '<html>'), /not JSON: is --api the base/],
      [say(200, '3'), /not JSON/],
      [say(404, '<html>'), /^no reason given \(404\)$/],
      [say(301, '', { location: 'https://example.org/' }), /redirects to https:\/\/example\.org\/: set --api/],
      [
        (_, response) => response.writeHead(200, { 'content-length': '9' }).write('{', () => response.destroy()),
        /broke off/,
      ],
    ]
    for (const [answer, message] of cases) {
      const { client } = await script(answer)
      await expect(client.request('POST', '/x')).rejects.toThrow(message)
    }
  })

  test('lines that break off are an error, not an end', async () => {
    const { client } = await script((_, response) => {
      response.writeHead(200, { 'transfer-encoding': 'chunked' })
      response.write('{"bytes": 1}\n', () => response.destroy())
    })
    const lines: object[] = []
    const read = async () => {
      for await (const line of client.lines('POST', '/verify')) lines.push(line)
    }
    await expect(read()).rejects.toThrow(/broke off/)
    expect(lines).toEqual([{ bytes: 1 }])
  })
})

describe('commands on servers of other makes', () => {
  test('a list ends, whatever a page holds, and gives nothing twice', async () => {
    const page = (ids: string[], total: number, limit?: number): RequestListener => {
      const uploads = ids.map(uploadId => ({ uploadId, cid: `cid-${uploadId}` }))
      return say(200, JSON.stringify({ uploads, total, ...(limit && { pagination: { limit } }) }))
    }
    // Something was uploaded after the first page, which pushed its last row to the second.
    const shifted = await script(page(['c', 'b'], 3, 2), page(['b', 'a'], 4, 2))
    expect((await shifted.run('ls', '--json')).stdout.match(/cid-\w/g)).toEqual(['cid-c', 'cid-b', 'cid-a'])
    expect(shifted.seen).toEqual([1, 2].map(n => `GET /api/v3/users/me/uploads?page=${n}&limit=100`))

    const short = await script(page(['a'], 1_000), page([], 1_000))
    expect(await short.run('ls', '--json')).toMatchObject({ code: 0, stdout: '{"uploadId":"a","cid":"cid-a"}\n' })
    expect(short.seen).toHaveLength(2)
  })

  test('waiting for a pin ends when the server does not try any further', async () => {
    const pinning = say(201, '{"cid": "x", "clusterId": "c", "status": "pinning"}')
    const failed = say(200, '{"cid": "x", "status": "failed", "nextAttemptAt": null, "lastError": "nobody has it"}')
    const { run, seen } = await script(pinning, failed)
    expect(await run('pin', 'x', '--wait')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'holdfast: x is failed: nobody has it\n',
    })
    expect(seen).toEqual(['POST /api/v3/files/pin/x', 'GET /api/v3/status/x?cl=c'])
  })
})

describe('forms', () => {
  let directory: string
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'holdfast-form-'))
  })
  afterAll(() => rm(directory, { recursive: true, force: true }))

  test('are as long as they say, and can be sent again', async () => {
    const file = join(directory, 'a')
    await writeFile(file, 'hello')
    const files = ['é/1', 'say "2"'].map(path => ({ file, path, size: 5 }))
    const form = uploadForm({ fields: { cl: 'cl1-eu', timelock: undefined }, field: 'files', files })
    for (let time = 0; time < 2; time++) {
      const text = (await collect(form.open())).toString()
      expect(Buffer.byteLength(text)).toBe(form.length)
      const names = [...text.matchAll(/name="(\w+)"(?:; filename="([^"]*)")?/g)].map(match => match.slice(1))
      expect(names).toEqual([
        ['cl', undefined],
        ['files', 'é/1'],
        ['files', 'say %222%22'],
      ])
    }
  })

  test('break off when a file is not what it was', async () => {
    const file = join(directory, 'b')
    await writeFile(file, 'grown or shrunk')
    const { client, seen } = await script(say(201, '{}'))
    for (const size of [3, 100]) {
      const body = uploadForm({ fields: {}, field: 'file', files: [{ file, path: 'b', size }] })
      await expect(client.request('POST', '/files', { body })).rejects.toThrow(/changed while it was being read/)
    }
    const missing = uploadForm({ fields: {}, field: 'file', files: [{ file: `${file}x`, path: 'b', size: 3 }] })
    await expect(client.request('POST', '/files', { body: missing })).rejects.toThrow(/cannot read .*it is not there/)
    expect(seen.length).toBeLessThanOrEqual(3)
  })

  test('of any size go through little memory, and are paced by who reads them', async () => {
    const file = join(directory, 'large')
    const size = 512 * 1024 * 1024
    await writeFile(file, '')
    await truncate(file, size)
    const before = process.memoryUsage().arrayBuffers
    let most = 0
    let received = 0
    const server = http.createServer(async (request, response) => {
      for await (const chunk of request) received += chunk.length
      response.end('{}')
    })
    servers.push(server.listen(0, '127.0.0.1'))
    await once(server, 'listening')
    const onProgress = (): void => {
      most = Math.max(most, process.memoryUsage().arrayBuffers - before)
    }
    const body = uploadForm({ fields: {}, field: 'file', files: [{ file, path: 'large', size }], onProgress })
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const response = await exchange({ method: 'POST', url, headers: {}, body, idleMs: 20_000 })
    response.resume()
    expect(received).toBe(body.length)
    expect(most).toBeLessThan(128 * 1024 * 1024)
  })
})

test('progress is drawn for a terminal only, at a pace, and taken away', () => {
  let now = 0
  const drawn: string[] = []
  const target = { isTTY: true, columns: 200, write: (text: string) => drawn.push(text) }
  const bar = new ProgressBar('file.bin', 4_000_000, { target, now: () => now })
  bar.update(0)
  now = 50
  bar.update(100)
  now = 1_000
  bar.update(1_000_000)
  bar.end()
  expect(drawn).toHaveLength(3)
  expect(drawn[1]).toContain(`${'█'.repeat(6)}${'░'.repeat(18)}  25 %  1.0 MB of 4.0 MB  1.0 MB/s  3 s left  file.bin`)
  expect(drawn[2]).toBe('\r\x1b[K')

  const silent = new ProgressBar('file.bin', 10, { target: { ...target, isTTY: false }, now: () => now })
  silent.update(5)
  silent.end()
  expect(drawn).toHaveLength(3)
})

test('sizes and tables', () => {
  expect([0, 999, 1_000, 999_949, 999_950, 1_500_000_000].map(formatBytes)).toEqual([
    '0 B',
    '999 B',
    '1.0 kB',
    '999.9 kB',
    '1.0 MB',
    '1.5 GB',
  ])
  expect(
    formatTable(
      [
        ['a', '1', 'long name'],
        ['bbb', '22', 'x\x1b[2J\n'],
      ],
      new Set([1]),
    ),
  ).toBe('a     1  long name\nbbb  22  x\uFFFD[2J\uFFFD')
})
