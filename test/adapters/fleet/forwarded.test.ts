import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  ANSWERED_HEADER,
  FORWARDED_HEADER,
  openAnswer,
  type Receiver,
  receiveForwarded,
  sealForwarded,
} from '../../../adapters/fleet/forwarded.ts'
import { answerOfVersion1 } from '../../../adapters/fleet/node-proof.ts'
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
  body: BODY as Uint8Array | null,
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

  test('is streamed if large', async () => {
    const body = (async function* () {
      yield Buffer.from('a stream')
    })()
    const sealed = seal()
    const { headers } = await answered({ status: 200, headers: {}, body }, sealed)
    const opened = await openAnswer(SECRET, sealed, { status: 200, headers, body: streamOf('whatever comes') })
    expect(opened && (await collect(opened.body)).toString()).toBe('whatever comes')
  })
})
