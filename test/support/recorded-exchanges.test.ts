import { once } from 'node:events'
import http, { type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { request } from 'undici'
import { describe, expect, test } from 'vitest'
import { collect, pseudoRandom } from './bytes.ts'
import { readExchanges, recordExchanges, replayExchanges, writeExchanges } from './recorded-exchanges.ts'
import { withTempDir } from './temp-dir.ts'

const BLOCK = pseudoRandom(5_000, 'sent and given back')

/** Takes uploads and counts requests. Can send an upload back, redirect, or cut an answer short. */
function foreign(): RequestListener {
  let asked = 0
  return (request, response) => {
    if (request.url === '/cut') {
      response.writeHead(200, { 'content-type': 'text/plain' }).write('half', () => request.socket.end())
      return
    }
    request.resume().on('end', () => {
      if (request.url === '/block') response.end(BLOCK)
      else if (request.url === '/moved') response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end()
      else {
        response.writeHead(200, { trailer: 'x-stream-error' })
        response.write(`asked ${++asked} times`)
        response.addTrailers({ 'x-stream-error': 'too often' })
        response.end()
      }
    })
  }
}

/** Returns what the client sees. The form's boundary differs at each call. */
async function talk(base: string): Promise<unknown[]> {
  const seen: unknown[] = []
  const ask = async (path: string, body?: Buffer, boundary = ''): Promise<void> => {
    const headers = boundary === '' ? {} : { 'content-type': `multipart/form-data; boundary=${boundary}` }
    const answer = await request(`${base}${path}`, { method: body ? 'POST' : 'GET', headers, body: body ?? null })
    const bytes = await collect(answer.body as AsyncIterable<Uint8Array>).catch(() => 'cut')
    const { location } = answer.headers
    seen.push([answer.statusCode, location, bytes.toString('latin1'), { ...answer.trailers }])
  }
  const boundary = `b${Math.random()}`
  await ask('/count')
  await ask('/count')
  await ask('/form', Buffer.concat([Buffer.from(`--${boundary}\r\n\r\n`), BLOCK, Buffer.from(boundary)]), boundary)
  await ask('/block')
  await ask('/moved')
  await ask('/cut')
  return seen
}

async function withForeign(run: (base: string) => Promise<void>): Promise<void> {
  const server = http.createServer(foreign()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    await run(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

describe('recorded exchanges', () => {
  test('replay in order, with trailers, redirects and cut answers', async () => {
    await withTempDir(dir =>
      withForeign(async base => {
        const file = join(dir, 'exchanges.jsonl')
        await using recorder = await recordExchanges(() => base)
        const seen = await talk(recorder.base)
        writeExchanges(file, 'talk', [])
        writeExchanges(file, 'talk', recorder.exchanges)
        writeExchanges(file, 'another', [{ ask: 'GET /', status: 404 }])
        const recorded = readExchanges(file, 'talk')
        expect(recorded).toEqual(recorder.exchanges)
        expect(recorded).toHaveLength(6)
        // Bytes that the client has sent are not recorded a second time in the answer.
        expect(JSON.stringify(recorded).length).toBeLessThan(1_500)

        await using replay = await replayExchanges(recorded)
        expect(await talk(replay.base)).toEqual(seen)
        expect(replay.unknown).toEqual([])
        expect(replay.left()).toEqual([])
      }),
    )
  })

  test('report a request never recorded, and one never asked again', async () => {
    const recorded = [{ ask: 'POST /form', sent: 'ffff', status: 200 }]
    await using replay = await replayExchanges(recorded)
    const answer = await request(`${replay.base}/form`, { method: 'POST', body: 'other' })
    expect(answer.statusCode).toBe(599)
    await answer.body.dump()
    expect(replay.unknown).toEqual([expect.stringMatching(/^POST \/form with 5 bytes, /)])
    expect(replay.left()).toEqual(['POST /form'])
  })
})
