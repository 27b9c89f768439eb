import { expect, test } from 'vitest'
import { PASSED_ON_HEADER, sealPassedOn, takingPassedOn } from '../../src/http/passed-on.ts'
import type { ApiRequest, ApiResponse } from '../../src/http/types.ts'

const NOW = Date.UTC(2026, 0, 15)
const SECRET = Buffer.alloc(32, 7)
const SAID = { node: 'b', requestId: 'id', client: '203.0.113.9', scheme: 'https', host: 'pins.example.org' } as const
const ASKED = { method: 'POST', target: '/api/v3/files?cl=first', now: NOW }
const OWN = ['10.0.0.2', undefined]

/** Who is taken for the client of a request with such a header, and for who has passed it on. */
async function taken(header: string | undefined, asked: Partial<ApiRequest> = {}): Promise<unknown> {
  const seen: ApiRequest[] = []
  const note = async (request: ApiRequest): Promise<ApiResponse> => {
    seen.push(request)
    return { status: 200, headers: {}, body: null }
  }
  await takingPassedOn(
    SECRET,
    () => NOW,
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
  return [seen[0]?.remoteAddress, seen[0]?.passedOn?.node]
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

test('it is good for that request alone, and for a minute', async () => {
  const header = sealPassedOn(SECRET, SAID, ASKED)
  expect(await taken(header, { method: 'DELETE' })).toEqual(OWN)
  expect(await taken(header, { path: '/api/v3/files/car' })).toEqual(OWN)
  expect(await taken(header, { query: 'cl=second' })).toEqual(OWN)
  expect(await taken(sealPassedOn(SECRET, SAID, { ...ASKED, now: NOW - 60_001 }))).toEqual(OWN)
  expect(await taken(sealPassedOn(SECRET, SAID, { ...ASKED, now: NOW + 60_001 }))).toEqual(OWN)
})
