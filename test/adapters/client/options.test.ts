import type { IncomingHttpHeaders, RequestListener } from 'node:http'
import { expect, test, vi } from 'vitest'
import { IdleTimer } from '../../../adapters/client/idle-timer.ts'
import { HoldfastClient } from '../../../adapters/client/index.ts'
import { say, scriptedServer } from '../../support/scripted-server.ts'

/** Answers with an empty object, and keeps the headers of each request. */
function keepsHeaders(given: IncomingHttpHeaders[]): RequestListener {
  return (request, response) => {
    given.push(request.headers)
    say(201, '{}')(request, response)
  }
}

test('a header of a request replaces one in another case', async () => {
  const given: IncomingHttpHeaders[] = []
  await using server = await scriptedServer(keepsHeaders(given))
  const headers = { 'User-Agent': 'app', 'X-Team': 'storage' }
  const client = new HoldfastClient({ base: server.base, key: 'hf_first', headers })
  await client.request('GET', '/users/me', { headers: { Authorization: 'Bearer hf_second', 'x-team': 'billing' } })
  await client.request('POST', '/jobs', { json: {}, headers: { Accept: 'application/x-ndjson' } })
  expect(given).toMatchObject([
    { authorization: 'Bearer hf_second', 'x-team': 'billing', 'user-agent': 'app', accept: 'application/json' },
    { authorization: 'Bearer hf_first', 'x-team': 'storage', accept: 'application/x-ndjson' },
  ])
})

test('a header of the client changes no type of a form', async () => {
  const given: IncomingHttpHeaders[] = []
  await using server = await scriptedServer(keepsHeaders(given))
  const client = new HoldfastClient({ base: server.base, headers: { 'Content-Type': 'application/json' } })
  await client.files.upload('hello', { name: 'hello.txt' })
  expect(given[0]?.['content-type']).toMatch(/^multipart\/form-data; boundary=[\w-]+$/)
})

test('an idle time beyond the longest timer ends no request at once', () => {
  vi.useFakeTimers()
  try {
    for (const ms of [Number.POSITIVE_INFINITY, 30 * 24 * 60 * 60 * 1_000]) {
      const idle = new IdleTimer(ms)
      idle.start()
      vi.advanceTimersByTime(24 * 60 * 60 * 1_000)
      expect(idle.signal.aborted).toBe(false)
      idle.stop()
    }
  } finally {
    vi.useRealTimers()
  }
})

test('the progress of an upload ends with all its bytes', async () => {
  const lengths: number[] = []
  await using server = await scriptedServer((request, response) => {
    lengths.push(Number(request.headers['content-length']))
    say(201, '{}')(request, response)
  })
  for (const bytes of [5, 70_000, 65_536 * 3]) {
    const sent: number[] = []
    const onProgress = (count: number): void => void sent.push(count)
    const source = { size: bytes, stream: () => new Blob([new Uint8Array(bytes)]).stream() }
    await server.client.files.upload(source, { name: 'a.bin', onProgress })
    expect(sent.at(-1)).toBe(lengths.at(-1))
    expect(sent.toSorted((a, b) => a - b)).toEqual(sent)
  }
})

test('an upload of a missing field is refused with a code', async () => {
  await using server = await scriptedServer(say(201, '{}'))
  const source = new FormData().get('file') as File
  await expect(server.client.files.upload(source)).rejects.toMatchObject({ code: 'VALIDATION' })
  expect(server.seen).toEqual([])
})

test('a cluster that no header can carry is refused by the server', async () => {
  const given: IncomingHttpHeaders[] = []
  await using server = await scriptedServer(keepsHeaders(given))
  await server.client.files.upload('hello', { name: 'hello.txt', cluster: 'cl1-東京' })
  await server.client.files.upload('hello', { name: 'hello.txt', cluster: 'cl1-eu' })
  expect(given.map(headers => headers['x-cluster'])).toEqual([undefined, 'cl1-eu'])
})

test('a list that many uploads shift yields no row twice', async () => {
  let uploads = Array.from({ length: 1_000 }, (_, i) => ({ uploadId: `0mx3zykz${i}`, cid: 'bafy', createdAt: '' }))
  const pageOf: RequestListener = (request, response) => {
    const page = Number(new URL(request.url ?? '', 'http://localhost').searchParams.get('page'))
    const rows = uploads.slice((page - 1) * 100, page * 100)
    say(200, JSON.stringify({ uploads: rows, total: uploads.length, pagination: { page, limit: 100 } }))(
      request,
      response,
    )
    if (page > 3) return
    const newer = Array.from({ length: 250 }, (_, i) => ({ uploadId: `0mx400${page}${i}`, cid: 'bafy', createdAt: '' }))
    uploads = [...newer, ...uploads]
  }
  await using server = await scriptedServer(pageOf)
  const yielded: string[] = []
  for await (const { uploadId } of server.client.pins.all()) yielded.push(String(uploadId))
  expect(new Set(yielded).size).toBe(yielded.length)
  expect(yielded.filter(id => id.startsWith('0mx3zykz'))).toHaveLength(1_000)
})
