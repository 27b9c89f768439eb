import { createHmac } from 'node:crypto'
import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import {
  ANSWERED_HEADER,
  FORWARDED_HEADER,
  openAnswer,
  type Receiver,
  receiveForwarded,
  sealForwarded,
  sealForwardedStream,
} from '../../../adapters/fleet/forwarded.ts'
import { answerOfVersion1, sealStatement } from '../../../adapters/fleet/node-proof.ts'
import { wholeUpTo } from '../../../src/domain/sources.ts'
import type { ApiRequest, ApiResponse } from '../../../src/http/api-messages.ts'
import { collect } from '../../support/bytes.ts'

const NOW = Date.UTC(2026, 0, 15)
const SECRET = Buffer.alloc(32, 7)
const SAID = {
  node: 'b',
  to: 'a',
  requestId: 'id',
  client: '203.0.113.9',
  scheme: 'https',
  host: 'pins.example.org',
} as const
const BODY = Buffer.from('content')
const HEADERS = { 'x-api-key': 'a key', 'content-length': '7', 'content-type': 'text/plain' }
const ASKED = {
  method: 'POST',
  target: '/api/v3/files?cl=first',
  headers: HEADERS,
  body: BODY as Uint8Array | 'frames' | null,
  now: NOW,
  run: 'this run',
}
const OWN = ['10.0.0.2', undefined, 'content']
const THEIRS = ['203.0.113.9', 'b', 'content']
const CHANGED = [503, 'a request from the node b was altered: check the proxies between it and the node a']

let nonces = 0
const seal = (asked: Partial<typeof ASKED & { nonce: string }> = {}, said: object = {}, secret = SECRET): string =>
  sealForwarded(secret, { ...SAID, ...said }, { ...ASKED, nonce: String(nonces++), ...asked })

interface Came extends Omit<Partial<ApiRequest>, 'body'> {
  headers?: Record<string, string>
  body?: Uint8Array
}

/** Creates a node. It returns the client, the sender and the body of each request, or its refusal. */
function nodeA(receiver: Partial<Receiver> = {}) {
  const seen: ApiRequest[] = []
  const note = async (request: ApiRequest): Promise<ApiResponse> => {
    seen.push(request)
    return { status: 200, headers: { etag: '"x"' }, body: (await collect(request.body)).toString() }
  }
  const handler = receiveForwarded(
    { self: 'a', run: 'this run', secret: SECRET, now: () => NOW, ...receiver },
    note,
    note,
  )
  return async (sealed: string | undefined, { headers = {}, body = BODY, ...other }: Came = {}): Promise<unknown> => {
    seen.length = 0
    const came: Record<string, string | undefined> = { ...HEADERS, ...headers, [FORWARDED_HEADER]: sealed }
    const answer = await handler({
      method: 'POST',
      path: '/api/v3/files',
      query: 'cl=first',
      header: name => came[name],
      body: (async function* () {
        for (const byte of body) yield Buffer.of(byte)
      })(),
      signal: new AbortController().signal,
      remoteAddress: '10.0.0.2',
      ...other,
    })
    const [one] = seen
    if (one === undefined) return [answer.status, JSON.parse(String(answer.body)).message]
    const shown = await openAnswer(SECRET, sealed ?? '', { ...answer, body: streamOf(answer.body) })
    // The node proves its answer only to another node.
    expect(shown !== null).toBe(one.forwarded !== undefined)
    return [one.remoteAddress, one.forwarded?.node, String(answer.body)]
  }
}

/** @returns a request with the headers of {@link ASKED}, without a body */
function requestOf(sealed: string): ApiRequest {
  return {
    method: 'POST',
    path: '/api/v3/files',
    query: 'cl=first',
    header: name =>
      name === FORWARDED_HEADER ? sealed : name === 'content-length' ? undefined : HEADERS[name as 'x-api-key'],
    body: streamOf(null),
    signal: new AbortController().signal,
    remoteAddress: '10.0.0.2',
  }
}

async function* cut(bytes: Uint8Array, perPiece: number): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = 0; at < bytes.length; at += perPiece) yield bytes.subarray(at, at + perPiece)
}

async function wholeOf(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  return (await wholeUpTo(stream, 1e9)) ?? Buffer.alloc(0)
}

async function* streamOf(body: ApiResponse['body']): AsyncGenerator<Uint8Array, void, undefined> {
  if (typeof body === 'string') yield Buffer.from(body)
}

describe('a forwarded request', () => {
  test('is accepted only with a proof of the fleet', async () => {
    const a = nodeA()
    expect(await a(seal())).toEqual(THEIRS)
    expect(await a(undefined)).toEqual(OWN)
    expect(await a(seal({}, {}, Buffer.alloc(32, 8)))).toEqual(OWN)
    const [said = '', proof = ''] = seal().split('.')
    expect(await a(`${Buffer.from('{}').toString('base64url')}.${proof}`)).toEqual(OWN)
    const long = `${seal()}.more`.repeat(20)
    for (const nonsense of ['', '.', 'x.y', said, long]) expect(await a(nonsense)).toEqual(OWN)
  })

  test('is refused if its target, credential, cluster, length or body changed', async () => {
    const a = nodeA()
    expect(await a(seal(), { method: 'DELETE' })).toEqual(CHANGED)
    expect(await a(seal(), { path: '/api/v3/files/car' })).toEqual(CHANGED)
    expect(await a(seal(), { query: 'cl=second' })).toEqual(CHANGED)
    expect(await a(seal(), { headers: { 'x-api-key': 'another key' } })).toEqual(CHANGED)
    expect(await a(seal({ body: null }), { headers: { 'content-length': '8' } })).toEqual(CHANGED)
    const another = [503, 'a request from the node b has an altered body']
    for (const body of [Buffer.from('CONTENT'), Buffer.alloc(0), Buffer.alloc(2_000_000)]) {
      expect(await a(seal(), { body })).toEqual(another)
      expect(await a(seal(), { body, arrived: async () => body })).toEqual(another)
    }
    expect(await a(seal(), { arrived: async () => BODY })).toEqual(THEIRS)
  })

  test('has no byte of a stream that was changed, moved or cut', async () => {
    const sealed = seal({ body: 'frames' })
    const pieces = [Buffer.from('con'), Buffer.alloc(0), Buffer.alloc(70_000, 1), Buffer.from('tent')]
    const content = Buffer.concat(pieces)
    const frames = (of = sealed, secret = SECRET) => wholeOf(sealForwardedStream(secret, of, Readable.from(pieces)))
    const received = async (wire: Uint8Array, perPiece = wire.length) => {
      const got: Uint8Array[] = []
      const handler = async (request: ApiRequest): Promise<ApiResponse> => {
        expect(request.header('content-length')).toBe('7')
        try {
          for await (const piece of request.body) got.push(piece)
        } catch (error) {
          return { status: 503, headers: {}, body: (error as Error).message }
        }
        return { status: 200, headers: {}, body: null }
      }
      const node = { self: 'a', run: 'this run', secret: SECRET, now: () => NOW }
      const body = cut(wire, perPiece)
      const { status } = await receiveForwarded(node, handler, handler)({ ...requestOf(sealed), body })
      return [status, Buffer.concat(got)]
    }
    const wire = await frames()
    for (const perPiece of [wire.length, 1_000, 7, 1]) expect(await received(wire, perPiece)).toEqual([200, content])
    // Three frames before the last one, which is empty: 3, 65,536, 4,464 and 4 bytes.
    const [first, second] = [wire.subarray(0, 39), wire.subarray(39, 39 + 65_572)]
    const changed = Buffer.from(wire)
    changed[4 + 3 + 32 + 4 + 60_000] = 9
    const longer = Buffer.alloc(4 + 65_537)
    longer.writeUInt32BE(65_537)
    const key = createHmac('sha256', SECRET).update(`holdfast 3 frames request ${sealed}`).digest()
    const mac = createHmac('sha256', key).update(Buffer.alloc(8)).update(longer.subarray(4)).digest()
    const con = content.subarray(0, 3)
    const wrong: Array<[wire: Uint8Array, got: Uint8Array]> = [
      [changed, con],
      [Buffer.concat([first, first, wire.subarray(39)]), con],
      [Buffer.concat([second, first, wire.subarray(39 + 65_572)]), Buffer.alloc(0)],
      [wire.subarray(0, -36), content],
      [wire.subarray(0, -1), content],
      [wire.subarray(0, 2), Buffer.alloc(0)],
      [Buffer.alloc(0), Buffer.alloc(0)],
      [Buffer.concat([wire, Buffer.of(0)]), content],
      [Buffer.concat([longer, mac, wire.subarray(-36)]), Buffer.alloc(0)],
      [await frames(seal({ body: 'frames' })), Buffer.alloc(0)],
      [await frames(sealed, Buffer.alloc(32, 8)), Buffer.alloc(0)],
      [content, Buffer.alloc(0)],
    ]
    for (const [one, got] of wrong) expect(await received(one)).toEqual([503, got])
  })

  test('is accepted from version 0.3.0 with a stream without proof', async () => {
    const a = nodeA()
    expect(await a(seal({ body: null }))).toEqual(THEIRS)
  })

  test('gives its handler only proved headers', async () => {
    const headers: unknown[] = []
    const handler = receiveForwarded(
      { self: 'a', run: 'this run', secret: SECRET, now: () => NOW },
      async ({ header }) => {
        headers.push(...['x-cluster', 'authorization', 'x-api-key', 'host'].map(header))
        return { status: 204, headers: {}, body: null }
      },
      async () => ({ status: 404, headers: {}, body: null }),
    )
    const came: Record<string, string> = { ...HEADERS, 'x-cluster': 'second', authorization: 'Bearer of another' }
    const sealed = seal({ body: null })
    await handler({
      method: 'POST',
      path: '/api/v3/files',
      query: 'cl=first',
      header: name => (name === FORWARDED_HEADER ? sealed : came[name]),
      body: (async function* () {})(),
      signal: new AbortController().signal,
      remoteAddress: '10.0.0.2',
    })
    expect(headers).toEqual([undefined, undefined, 'a key', 'pins.example.org'])
  })

  test('is refused if it is replayed', async () => {
    const a = nodeA()
    const sealed = seal()
    expect(await a(sealed)).toEqual(THEIRS)
    const twice = [503, 'a request from the node b arrived twice or too late']
    expect(await a(sealed)).toEqual(twice)
    expect(await a(sealed, { remoteAddress: '10.0.0.3' })).toEqual(twice)
    // A failed attempt uses up its proof.
    const spent = seal()
    await a(spent, { body: Buffer.from('CONTENT') })
    expect(await a(spent)).toEqual(twice)
  })

  test('is refused by another node, another run, or after a minute', async () => {
    const a = nodeA()
    for (const now of [NOW - 60_000, NOW + 60_000]) expect(await a(seal({ now }))).toEqual(THEIRS)
    // Never treated as a client's request, or two nodes could forward it to each other forever.
    for (const now of [NOW - 60_001, NOW + 60_001]) {
      expect(await a(seal({ now }))).toEqual([503, 'the clocks of the nodes b and a are too far apart'])
    }
    const misrouted = 'the node a received a request from the node b for the node c: check the url of c'
    expect(await a(seal({}, { to: 'c' }))).toEqual([503, misrouted])
    const restarted = [503, 'the node a has restarted since the last check by the node b: try again']
    expect(await a(seal({ run: 'the run before' }))).toEqual(restarted)
  })

  test('from version 0.2.0 is refused with an answer it understands', async () => {
    const text = Buffer.from(JSON.stringify({ ...SAID, at: NOW })).toString('base64url')
    const proof = createHmac('sha256', SECRET).update(`POST /api/v3/files?cl=first\n${text}`).digest('base64url')
    const sealed = `${text}.${proof}`
    expect(await nodeA()(sealed)).toEqual([503, 'the node b runs an older version than the node a: update it'])
    expect(answerOfVersion1(SECRET, sealed, 503)).toBe(
      createHmac('sha256', SECRET).update(`\n503\n${sealed}`).digest('base64url'),
    )
    // Checks the proof as that version does.
    const none = async (): Promise<ApiResponse> => ({ status: 200, headers: {}, body: null })
    const a = receiveForwarded({ self: 'a', run: 'this run', secret: SECRET, now: () => NOW }, none, none)
    const { status, headers } = await a({
      method: 'POST',
      path: '/api/v3/files',
      query: 'cl=first',
      header: name => (name === FORWARDED_HEADER ? sealed : undefined),
      body: (async function* () {})(),
      signal: new AbortController().signal,
      remoteAddress: '10.0.0.2',
    })
    expect([status, headers[ANSWERED_HEADER]]).toEqual([503, answerOfVersion1(SECRET, sealed, 503)])
  })
})

describe('an answer to another node', () => {
  const answered = async (answer: ApiResponse, sealed: string) => {
    const handler = async () => answer
    return receiveForwarded(
      { self: 'a', run: 'this run', secret: SECRET, now: () => NOW },
      handler,
      handler,
    )({
      method: 'POST',
      path: '/api/v3/files',
      query: 'cl=first',
      header: name => (name === FORWARDED_HEADER ? sealed : { ...HEADERS, none: undefined }[name as 'none']),
      body: streamOf('content'),
      signal: new AbortController().signal,
      remoteAddress: '10.0.0.2',
    })
  }

  test('is accepted only for its request, status, headers and body', async () => {
    const sealed = seal()
    const { headers } = await answered({ status: 201, headers: { etag: '"x"' }, body: 'kept' }, sealed)
    const open = async (given: object, { secret = SECRET, of = sealed } = {}) => {
      const opened = await openAnswer(secret, of, { status: 201, headers, body: streamOf('kept'), ...given })
      return opened && [opened.headers, (await collect(opened.body)).toString()]
    }
    expect(await open({})).toEqual([{ etag: '"x"', 'content-length': '4' }, 'kept'])
    // A proxy may add headers. They are ignored.
    const more = { ...headers, 'retry-after': '9' }
    expect(await open({ headers: more })).toEqual([{ etag: '"x"', 'content-length': '4' }, 'kept'])
    const wrong = [
      open({ status: 200 }),
      open({ headers: { ...headers, etag: '"y"' } }),
      open({ headers: { ...headers, etag: undefined } }),
      open({ headers: { ...headers, [ANSWERED_HEADER]: undefined } }),
      open({ headers: { ...headers, [ANSWERED_HEADER]: sealed } }),
      open({ body: streamOf('KEPT') }),
      open({ body: streamOf('kept and more') }),
      open({}, { secret: Buffer.alloc(32, 8) }),
      open({}, { of: seal() }),
    ]
    expect(await Promise.all(wrong)).toEqual(wrong.map(() => null))
  })

  test('is streamed in sealed frames if large', async () => {
    const sealed = seal()
    const given = { status: 200, headers: { 'content-length': '8' } }
    const { headers, body } = await answered({ ...given, body: streamOf('a stream') }, sealed)
    expect(headers['content-length']).toBe(undefined)
    const wire = await wholeOf(body as AsyncIterable<Uint8Array>)
    const read = async (bytes: Uint8Array) => {
      const opened = await openAnswer(SECRET, sealed, { status: 200, headers, body: cut(bytes, 5) })
      return [opened?.headers, opened && (await collect(opened.body)).toString()]
    }
    expect(await read(wire)).toEqual([{ 'content-length': '8' }, 'a stream'])
    const altered = Buffer.from(wire).fill('A', 4, 5)
    for (const bytes of [altered, wire.subarray(0, -36), Buffer.from('whatever comes')]) {
      await expect(read(bytes)).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    }
    const large = 1_048_577
    const whole = await answered({ status: 200, headers: {}, body: Buffer.alloc(large) }, sealed)
    expect((await wholeOf(whole.body as AsyncIterable<Uint8Array>)).length).toBe(large + 18 * 36)
  })

  test('to version 0.3.0 is streamed as it is', async () => {
    const text = Buffer.from(seal().split('.')[0] ?? '', 'base64url').toString()
    const { readsFrames: _, ...statement } = JSON.parse(text)
    const sealed = sealStatement(SECRET, 'request', statement)
    const { headers, body } = await answered({ status: 200, headers: {}, body: streamOf('a stream') }, sealed)
    expect((await wholeOf(body as AsyncIterable<Uint8Array>)).toString()).toBe('a stream')
    const opened = await openAnswer(SECRET, sealed, { status: 200, headers, body: streamOf('whatever comes') })
    expect(opened && (await collect(opened.body)).toString()).toBe('whatever comes')
  })

  test('closes its source if nobody reads it', async () => {
    const closed: string[] = []
    const source = (name: string): AsyncIterableIterator<Uint8Array> => ({
      [Symbol.asyncIterator]() {
        return this
      },
      next: async () => ({ done: false, value: Buffer.from('on and on') }),
      return: async () => {
        closed.push(name)
        return { done: true, value: undefined }
      },
    })
    const sealed = seal()
    const { headers, body } = await answered({ status: 200, headers: {}, body: source('sent') }, sealed)
    await (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]().return?.()
    const opened = await openAnswer(SECRET, sealed, { status: 200, headers, body: source('received') })
    await opened?.body[Symbol.asyncIterator]().return?.()
    expect(closed).toEqual(['sent', 'received'])
  })
})
