import { expect, test } from 'vitest'
import {
  ANSWERED_HEADER,
  isAnswered,
  PASSED_ON_HEADER,
  sealPassedOn,
  takingPassedOn,
} from '../../src/http/passed-on.ts'
import type { ApiRequest, ApiResponse } from '../../src/http/types.ts'

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
const ASKED = { method: 'POST', target: '/api/v3/files?cl=first', now: NOW }
const OWN = ['10.0.0.2', undefined]

/** Who is taken for the client of a request with such a header, and for who has passed it on; or how it is refused. */
async function taken(header: string | undefined, asked: Partial<ApiRequest> = {}): Promise<unknown> {
  const seen: ApiRequest[] = []
  const note = async (request: ApiRequest): Promise<ApiResponse> => {
    seen.push(request)
    return { status: 200, headers: {}, body: null }
  }
  const answer = await takingPassedOn(
    { self: 'a', secret: SECRET, now: () => NOW },
    note,
    note,
  )({
    method: 'POST',
    path: '/api/v3/files',
    query: 'cl=first',
    header: name => (name === PASSED_ON_HEADER ? header : undefined),
    body: (async function* () {})(),
    signal: new AbortController().signal,
    remoteAddress: '10.0.0.2',
    ...asked,
  })
  const [one] = seen
  if (one === undefined) return [answer.status, JSON.parse(String(answer.body)).message]
  // Of whom a node has passed it on it is shown who answers; of all others nothing is.
  const isShown = isAnswered(SECRET, header ?? '', answer.status, answer.headers[ANSWERED_HEADER])
  expect(isShown).toBe(one.passedOn !== undefined)
  expect(Object.keys(answer.headers)).toHaveLength(isShown ? 1 : 0)
  return [one.remoteAddress, one.passedOn?.node]
}

test('what a node of the fleet says of a request that it passes on is believed, and of nobody else', async () => {
  const header = sealPassedOn(SECRET, SAID, ASKED)
  expect(await taken(header)).toEqual(['203.0.113.9', 'b'])
  expect(await taken(undefined)).toEqual(OWN)
  expect(await taken(sealPassedOn(Buffer.alloc(32, 8), SAID, ASKED))).toEqual(OWN)
  const [said = '', proof = ''] = header.split('.')
  expect(await taken(`${Buffer.from('{}').toString('base64url')}.${proof}`)).toEqual(OWN)
  for (const nonsense of ['', '.', 'x.y', said, `${header}.more`.repeat(20)]) expect(await taken(nonsense)).toEqual(OWN)
})

test('it is good for that request alone, to that node, and for a minute', async () => {
  const header = sealPassedOn(SECRET, SAID, ASKED)
  expect(await taken(header, { method: 'DELETE' })).toEqual(OWN)
  expect(await taken(header, { path: '/api/v3/files/car' })).toEqual(OWN)
  expect(await taken(header, { query: 'cl=second' })).toEqual(OWN)
  for (const now of [NOW - 60_000, NOW + 60_000]) {
    expect(await taken(sealPassedOn(SECRET, SAID, { ...ASKED, now }))).toEqual(['203.0.113.9', 'b'])
  }
  // None of it is taken for a client's: what two nodes sent to each other as clients would go round for ever.
  for (const now of [NOW - 60_001, NOW + 60_001]) {
    const refused = [503, 'the clocks of the nodes b and a are too far apart']
    expect(await taken(sealPassedOn(SECRET, SAID, { ...ASKED, now }))).toEqual(refused)
  }
  const refused = [503, 'what the node b asks the node c comes to the node a: look at the url of c']
  expect(await taken(sealPassedOn(SECRET, { ...SAID, to: 'c' }, ASKED))).toEqual(refused)
})

test('an answer is shown to be from the node that was asked, for that request and that status', async () => {
  const sealed = sealPassedOn(SECRET, SAID, ASKED)
  const handler = async (): Promise<ApiResponse> => ({ status: 201, headers: { etag: '"x"' }, body: null })
  const { headers } = await takingPassedOn(
    { self: 'a', secret: SECRET, now: () => NOW },
    handler,
    handler,
  )({
    method: 'POST',
    path: '/api/v3/files',
    query: 'cl=first',
    header: name => (name === PASSED_ON_HEADER ? sealed : undefined),
    body: (async function* () {})(),
    signal: new AbortController().signal,
    remoteAddress: '10.0.0.2',
  })
  const shown = headers[ANSWERED_HEADER]
  expect([headers.etag, isAnswered(SECRET, sealed, 201, shown)]).toEqual(['"x"', true])
  const other = sealPassedOn(SECRET, SAID, { ...ASKED, now: NOW + 1 })
  const wrong: Array<Parameters<typeof isAnswered>> = [
    [SECRET, sealed, 200, shown],
    [SECRET, other, 201, shown],
    [Buffer.alloc(32, 8), sealed, 201, shown],
    [SECRET, sealed, 201, undefined],
    [SECRET, sealed, 201, sealed.split('.')[1]],
  ]
  expect(wrong.map(given => isAnswered(...given))).toEqual([false, false, false, false, false])
})
