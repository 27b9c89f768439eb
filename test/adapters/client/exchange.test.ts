import { once } from 'node:events'
import http, { type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { formBody } from '../../../adapters/client/form.ts'
import { HoldfastClient, type SizedSource } from '../../../adapters/client/index.ts'
import { bodyBlob, bodyBytes, bodyLength } from '../../../adapters/client/request-body.ts'
import { collect } from '../../support/bytes.ts'
import { hangUp, say, scriptedServer } from '../../support/scripted-server.ts'

const limited = say(429, '{"message": "slow down", "code": "RATE_LIMIT"}', { 'retry-after': '7' })
const post = { json: {} }

describe('requests', () => {
  test('wait once for the Retry-After of the rate limit', async () => {
    await using server = await scriptedServer(limited, say(201, '{"cid": "x"}'))
    expect(await server.client.pins.add('x')).toEqual({ cid: 'x' })
    expect(server.waits).toEqual([7_000])
    expect(server.seen).toEqual(['POST /api/v3/files/pin/x', 'POST /api/v3/files/pin/x'])

    await using again = await scriptedServer(limited)
    await expect(again.client.request('GET', '/status/x')).rejects.toMatchObject({
      code: 'RATE_LIMIT',
      message: 'slow down',
      details: { status: 429 },
    })
    expect(again.waits).toEqual([7_000])
  })

  test('do not wait for hours', async () => {
    await using server = await scriptedServer(say(429, '{"message": "no"}', { 'retry-after': '86400' }))
    await expect(server.client.request('GET', '/status/x')).rejects.toThrow('no')
    expect(server.waits).toEqual([])
  })

  test('are retried if they only read', async () => {
    await using reading = await scriptedServer(hangUp, say(503, '{"message": "starting"}'), say(200, '{"total": 1}'))
    expect(await reading.client.request('GET', '/users/me/uploads')).toEqual({ total: 1 })
    expect(reading.waits).toHaveLength(2)

    await using down = await scriptedServer(hangUp)
    await expect(down.client.request('GET', '/users/me/uploads')).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(down.seen).toHaveLength(3)

    for (const method of ['POST', 'DELETE']) {
      await using writing = await scriptedServer(hangUp, say(200, '{}'))
      await expect(writing.client.request(method, '/files/remove/x')).rejects.toMatchObject({ code: 'UNAVAILABLE' })
      expect(writing.seen).toHaveLength(1)
    }
  })

  test('with a stream as body are not retried', async () => {
    await using server = await scriptedServer(limited, say(201, '{}'))
    const once = (async function* () {
      yield Buffer.from('x')
    })()
    await expect(server.client.files.upload(once)).rejects.toMatchObject({ code: 'RATE_LIMIT' })
    expect(server.seen).toHaveLength(1)
  })

  test('fail with the server’s code and fields, or name the invalid answer', async () => {
    const cut: RequestListener = (_, response) =>
      response.writeHead(200, { 'content-length': '9' }).write('{', () => response.destroy())
    const cases: [RequestListener, object][] = [
      [say(200, '<html>'), { code: 'UNAVAILABLE', message: expect.stringContaining('not JSON') }],
      [say(200, '3'), { code: 'UNAVAILABLE', message: expect.stringContaining('not JSON') }],
      [say(404, '<html>'), { code: 'UNAVAILABLE', message: 'no reason given (404)', details: { status: 404 } }],
      [
        say(403, '{"message": "m", "code": "missing_scope", "required": "files:write"}'),
        { code: 'missing_scope', details: { status: 403, required: 'files:write' } },
      ],
      [
        say(301, '', { location: 'https://example.org/' }),
        {
          message: expect.stringMatching(/redirects to https:\/\/example\.org\/: is the base/),
          details: { status: 301 },
        },
      ],
      [cut, { code: 'UNAVAILABLE', message: expect.stringContaining('broke off') }],
    ]
    for (const [answer, error] of cases) {
      await using server = await scriptedServer(answer)
      await expect(server.client.request('POST', '/x')).rejects.toMatchObject(error)
    }
  })

  test('fail if lines break off', async () => {
    await using server = await scriptedServer((_, response) => {
      response.writeHead(200, { 'transfer-encoding': 'chunked' })
      response.write('{"bytes": 1}\n', () => response.destroy())
    })
    const lines: object[] = []
    const read = async () => {
      for await (const line of server.client.lines('POST', '/verify', post)) lines.push(line)
    }
    await expect(read()).rejects.toThrow(/broke off/)
    expect(lines).toEqual([{ bytes: 1 }])
  })

  test('end with their signal, or after too long a silence', async () => {
    await using server = await scriptedServer(request => request.resume())
    const abort = new AbortController()
    const asked = server.client.request('POST', '/x', { ...post, signal: abort.signal })
    abort.abort()
    await expect(asked).rejects.toMatchObject({ code: 'ABORTED' })
    await expect(server.client.request('POST', '/x', { ...post, idleMs: 20 })).rejects.toThrow('no sign of life')
  })

  test('validate base, gateway and key', () => {
    for (const base of ['', 'example.org', 'ftp://example.org', 'https://example.org/?x', 'https://a:b@example.org']) {
      expect(() => new HoldfastClient({ base }), base).toThrow('base must be the URL of an API')
    }
    expect(() => new HoldfastClient({ base: 'http://h', gateway: 'x' })).toThrow('gateway must be')
    expect(() => new HoldfastClient({ base: 'http://h', key: 'line\nbreak' })).toThrow('the key may have')
  })
})

function sized(text: string, size = Buffer.byteLength(text)): SizedSource {
  return {
    size,
    async *stream() {
      yield Buffer.from(text)
    },
  }
}

describe('bodies', () => {
  test('have their declared length, repeat, and equal a Blob', async () => {
    const files = ['é/1', 'say "2"'].map(name => ({ name, content: sized('hello') }))
    const form = formBody({ fields: { cl: 'cl1-eu', timelock: undefined }, field: 'files', files })
    const texts = [
      (await collect(bodyBytes(form))).toString(),
      (await collect(bodyBytes(form))).toString(),
      await (await bodyBlob(form)).text(),
    ]
    for (const text of texts) {
      expect(Buffer.byteLength(text)).toBe(bodyLength(form))
      const names = [...text.matchAll(/name="(\w+)"(?:; filename="([^"]*)")?/g)].map(match => match.slice(1))
      expect(names).toEqual([
        ['cl', undefined],
        ['files', 'é/1'],
        ['files', 'say %222%22'],
      ])
    }
  })

  test('break off with the error of a changed source', async () => {
    await using server = await scriptedServer(say(201, '{}'))
    for (const size of [3, 100]) {
      await expect(server.client.files.upload(sized('grown or shrunk', size))).rejects.toThrow(/has changed its length/)
    }
    const broken = {
      size: 5,
      async *stream() {
        yield Buffer.from('x')
        throw new Error('the disk is gone')
      },
    }
    await expect(server.client.files.upload(broken)).rejects.toThrow('the disk is gone')
    // JavaScript callers are not type-checked.
    await expect(server.client.files.upload(7 as unknown as string)).rejects.toMatchObject({ code: 'VALIDATION' })
  })

  test('are not read on after a refusal or an abort', async () => {
    const most = 1_000
    let pieces = 0
    const abort = new AbortController()
    const large: SizedSource = {
      size: 2 ** 40,
      async *stream() {
        for (pieces = 0; pieces < most; pieces++) {
          if (pieces === 100) abort.abort()
          yield new Uint8Array(1024 * 1024)
        }
      },
    }
    const closed = Promise.withResolvers<void>()
    await using refusing = await scriptedServer((request, response) => {
      request.socket.once('close', () => closed.resolve())
      response.writeHead(403, { 'content-type': 'application/json' }).end('{"code": "QUOTA_EXCEEDED"}')
    })
    await expect(refusing.client.files.importCar(large)).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
    await closed.promise
    expect(pieces).toBeLessThan(most)

    await using taking = await scriptedServer(request => request.resume())
    const { signal } = abort
    await expect(taking.client.files.importCar(large, { signal })).rejects.toMatchObject({ code: 'ABORTED' })
    expect(pieces).toBeLessThan(most)
  })

  test('stream through little memory at the reader’s pace', async () => {
    const piece = new Uint8Array(256 * 1024)
    const size = 512 * 1024 * 1024
    const before = process.memoryUsage().arrayBuffers
    let most = 0
    let received = 0
    const server = http.createServer(async (request, response) => {
      for await (const chunk of request) received += chunk.length
      response.end('{}')
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const source: SizedSource = {
      size,
      async *stream() {
        for (let sent = 0; sent < size; sent += piece.length) yield piece
      },
    }
    const onProgress = (): void => {
      most = Math.max(most, process.memoryUsage().arrayBuffers - before)
    }
    const client = new HoldfastClient({ base: `http://127.0.0.1:${port}`, key: 'k' })
    await client.files.importCar(source, { onProgress })
    server.close()
    expect(received).toBe(size)
    expect(most).toBeLessThan(128 * 1024 * 1024)
  })
})
