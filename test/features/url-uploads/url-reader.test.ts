import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, LookupFunction } from 'node:net'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/domain/clock.ts'
import { openUrlReader, type UrlReaderOptions } from '../../../src/features/url-uploads/url-reader.ts'
import { publicLookup } from '../../../src/outgoing/public-lookup.ts'
import { collect, pseudoRandom } from '../../support/bytes.ts'

type Handler = (request: IncomingMessage, response: ServerResponse) => void

interface Asked {
  name?: string
  bytes?: string
  error?: string
}

/** Default number of upload slots of one account. */
const SLOW = 64
const LOOPBACK = [{ address: '127.0.0.1', family: 4 }]
/** Resolves every name to this machine, and then refuses the address. */
const toInside = publicLookup(((_name, _options, callback) => callback(null, LOOPBACK)) as LookupFunction)

/** Resolves `public.test` to this machine without a check, like the address of another machine. */
const lookup: LookupFunction = (name, options, callback) =>
  name === 'public.test' ? callback(null, LOOPBACK as never) : toInside(name, options, callback)

async function withServer<T>(handler: Handler, use: (port: number) => Promise<T>): Promise<T> {
  const server = createServer(handler)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  try {
    return await use((server.address() as AddressInfo).port)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

/** Reads a path of a server at `public.test`. */
function read(
  path: string,
  handler: Handler,
  options: Partial<UrlReaderOptions> = {},
  mostBytes: number | null = null,
) {
  return withServer(handler, async (port): Promise<Asked> => {
    const reader = openUrlReader({ clock: systemClock, allowPrivate: false, lookup, ...options })
    try {
      const url = reader.parse(`http://public.test:${port}${path}`)
      const { name, body } = await reader.open(url, { signal: AbortSignal.timeout(20_000), mostBytes })
      return { name, bytes: (await collect(body)).toString() }
    } catch (error) {
      return { error: error instanceof Error ? error.message : String(error) }
    } finally {
      await reader.close()
    }
  })
}

const UNREACHED = { error: 'the server of url could not be reached' }

describe('a URL of an account', () => {
  test('is read with the name that its last redirect gives', async () => {
    const asked: unknown[] = []
    const answer = await read('/start', (request, response) => {
      asked.push(request.headers.authorization, request.headers.cookie)
      if (request.url === '/start') response.writeHead(302, { location: '/files/a%20b.txt?x=1' }).end()
      else response.end('the file')
    })
    expect(answer).toEqual({ name: 'a b.txt', bytes: 'the file' })
    expect(asked.every(value => value === undefined)).toBe(true)
  })

  test.each([
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://0x7f.1/',
    'http://0/',
    'http://[::1]/',
    'http://[::ffff:10.0.0.1]/',
    'http://[64:ff9b::7f00:1]/',
    'http://localhost:8080/',
    'http://localhost./',
    'http://x.localhost/',
    'http://169.254.169.254/latest/meta-data',
    'https://192.168.1.1/',
  ])('is refused as private: %s', url => {
    const { parse } = openUrlReader({ clock: systemClock, allowPrivate: false })
    expect(() => parse(url)).toThrow('url must not lead to a private address')
  })

  test.each(['', 'file:///etc/passwd', 'ftp://example.org/', 'gopher://example.org/', 'http://a:b@example.org/', 'x'])(
    'is refused as no URL of the web: %s',
    url => {
      const { parse } = openUrlReader({ clock: systemClock, allowPrivate: true })
      expect(() => parse(url)).toThrow('url must be an http or https URL without a user name')
    },
  )

  test.each(['http://127.0.0.1:PORT/', 'http://inside.test:PORT/', 'http://[::1]:PORT/', 'file:///etc/passwd'])(
    'never reaches a private address by a redirect: %s',
    async target => {
      const asked: string[] = []
      const answer = await read('/', (request, response) => {
        asked.push(request.headers.host ?? '')
        const location = target.replace('PORT', String(request.socket.localPort))
        response.writeHead(302, { location }).end()
      })
      expect(answer).toEqual(UNREACHED)
      expect(asked).toHaveLength(1)
    },
  )

  test('connects to the checked address of a name that changes', async () => {
    let asked = 0
    const answers = [LOOPBACK, [{ address: '10.0.0.1', family: 4 }]]
    const changing: LookupFunction = (name, options, callback) => {
      const found = answers[Math.min(asked++, 1)] ?? []
      if (asked === 1) callback(null, found as never)
      else publicLookup(((_name, _options, done) => done(null, found)) as LookupFunction)(name, options, callback)
    }
    const answer = await read(
      '/',
      (request, response) => {
        // The second name needs a second connection, and so a second lookup.
        response.writeHead(302, { location: `http://other.test:${request.socket.localPort}/` }).end()
      },
      { lookup: changing },
    )
    expect([answer, asked]).toEqual([UNREACHED, 2])
  })

  test('is refused if any address of its name is private', async () => {
    const mixed = publicLookup(((_name, _options, callback) =>
      callback(null, [{ address: '93.184.216.34', family: 4 }, ...LOOPBACK])) as LookupFunction)
    const asked: string[] = []
    const answer = await read('/', (request, response) => response.end(asked.push(request.url ?? '')), {
      lookup: mixed,
    })
    expect([answer, asked]).toEqual([UNREACHED, []])
  })

  test('is given up if its server stalls, drips, redirects, or breaks off', async () => {
    const drip: Handler = (_, response) => {
      response.write('a')
      const timer = setInterval(() => response.write('a'), 50)
      response.on('close', () => clearInterval(timer))
    }
    const late = { error: 'the server of url did not answer in time' }
    expect(await read('/', () => undefined, { timeoutMs: 200 })).toEqual(late)
    expect(await read('/', (_, response) => void response.write('a'), { timeoutMs: 200 })).toEqual(late)
    expect(await read('/', drip, { transferMs: 500 })).toEqual(late)
    expect(await read('/', (_, response) => response.writeHead(302, { location: '/' }).end())).toEqual({
      error: 'url redirects too often',
    })
    expect(
      await read('/', (_, response) => {
        response.writeHead(200, { 'content-length': '9' }).write('a')
        setTimeout(() => response.destroy(), 50)
      }),
    ).toEqual(UNREACHED)
  })

  test('does not wait for slow downloads of others from its host', async () => {
    const waiting: ServerResponse[] = []
    const answerAll: Handler = (_, response) => {
      if (waiting.push(response) === SLOW) for (const open of waiting) open.end('the file')
    }
    await withServer(answerAll, async port => {
      const reader = openUrlReader({ clock: systemClock, allowPrivate: true })
      const download = async (): Promise<string> => {
        const url = reader.parse(`http://127.0.0.1:${port}/`)
        const { body } = await reader.open(url, { signal: AbortSignal.timeout(20_000), mostBytes: null })
        return (await collect(body)).toString()
      }
      try {
        const files = await Promise.all(Array.from({ length: SLOW }, download))
        expect(files).toEqual(Array(SLOW).fill('the file'))
      } finally {
        await reader.close()
      }
    })
  })

  const coded = (coding: string, bytes: Uint8Array, type = 'text/plain') => {
    return read('/a', (_, response) => {
      response.writeHead(200, { 'content-encoding': coding, 'content-type': type, 'content-length': bytes.length })
      response.end(bytes)
    })
  }
  const CODINGS: ReadonlyArray<[string, (bytes: Uint8Array) => Uint8Array]> = [
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
    ['identity', bytes => bytes],
    ['GZIP, br', bytes => brotliCompressSync(gzipSync(bytes))],
  ]

  test.each(CODINGS)('is the file, although its server sends %s', async (coding, encode) => {
    const asked: unknown[] = []
    expect(await coded(coding, encode(Buffer.from('the file')))).toEqual({ name: 'a', bytes: 'the file' })
    const accepted = await read('/', (request, response) => {
      asked.push(request.headers['accept-encoding'])
      response.end()
    })
    expect([accepted.bytes, asked]).toEqual(['', ['identity']])
  })

  test('stays a gzip file that its server marks as one', async () => {
    const zipped = gzipSync('the file')
    const answer = await coded('gzip', zipped, 'application/x-gzip')
    expect(answer.bytes).toBe(zipped.toString())
  })

  test('is refused with an unknown or broken coding', async () => {
    const refused = { error: 'url must lead to a file: its server sends an unknown or broken Content-Encoding' }
    expect(await coded('compress', Buffer.from('x'))).toEqual(refused)
    expect(await coded('gzip, gzip, gzip', gzipSync(gzipSync(gzipSync('the file'))))).toEqual(refused)
    for (const [coding, encode] of CODINGS.slice(0, 5)) {
      const whole = encode(Buffer.alloc(100_000, 'abc'))
      expect(await coded(coding, Buffer.from('no such coding'))).toEqual(refused)
      expect(await coded(coding, whole.subarray(0, whole.length - 5))).toEqual(refused)
    }
  })

  test('has a window of 8 MiB at most in zstd', async () => {
    // A frame of one byte. The sixth byte has the exponent of the window.
    const frame = (exponent: number) => Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, (exponent - 10) << 3, 9, 0, 0, 0x61])
    expect(await coded('zstd', frame(23))).toEqual({ name: 'a', bytes: 'a' })
    expect((await coded('zstd', frame(24))).error).toMatch(/unknown or broken Content-Encoding/)
  })

  test('waits for the windows of slow servers', async () => {
    const half = brotliCompressSync(pseudoRandom(300_000, 'slow')).subarray(0, 200_000)
    await withServer(
      (_, response) => void response.writeHead(200, { 'content-encoding': 'br' }).write(half),
      async port => {
        const reader = openUrlReader({ clock: systemClock, allowPrivate: true })
        const { signal } = new AbortController()
        const open = async () => {
          const { body } = await reader.open(reader.parse(`http://127.0.0.1:${port}/`), { signal, mostBytes: null })
          const pieces = body[Symbol.asyncIterator]()
          await pieces.next()
          return pieces
        }
        try {
          const [first] = await Promise.all([open(), open(), open(), open()])
          await expect(open()).rejects.toMatchObject({ code: 'UNAVAILABLE', details: { retryAfter: 10 } })
          await first.return?.()
          await expect.poll(() => open().then(() => true, String)).toBe(true)
        } finally {
          await reader.close()
        }
      },
    )
  })

  test('is decoded no further than its reader wants', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 ** 2))
    await withServer(
      (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
      async port => {
        const reader = openUrlReader({ clock: systemClock, allowPrivate: true })
        const url = reader.parse(`http://127.0.0.1:${port}/`)
        const { body } = await reader.open(url, { signal: AbortSignal.timeout(20_000), mostBytes: 100_000 })
        let bytes = 0
        for await (const piece of body) {
          bytes += piece.length
          if (bytes > 100_000) break
        }
        expect(bytes).toBeLessThan(1024 ** 2)
        await reader.close()
      },
    )
  })

  test('must lead to a file of an allowed length', async () => {
    expect(await read('/', (_, response) => response.writeHead(404).end('no'))).toEqual({
      error: 'url must lead to a file: its server answers HTTP 404',
    })
    expect(await read('/', (_, response) => response.end('12345'), {}, 4)).toEqual({
      error: 'the plan allows files of 4 bytes',
    })
  })
})
