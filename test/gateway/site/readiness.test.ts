import { mkdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { ApiHandler, Engine } from '../../../src/index.ts'
import { callApi } from '../../support/api-call.ts'
import { withEngine } from '../../support/test-engine.ts'
import { threadReaders } from '../../support/thread-readers.ts'

const HOST = 'content.example.org'

async function ask(gateway: ApiHandler, path = '/ready', { method = 'GET', host = '10.0.0.1:4101' } = {}) {
  const { status, body, headers } = await gateway({
    method,
    path,
    query: '',
    header: name => (name === 'host' ? host : undefined),
    body: (async function* () {})(),
    signal: new AbortController().signal,
    remoteAddress: '127.0.0.1',
  })
  return { status, body: body === null ? null : String(body), headers }
}

const statusOf = async ({ ownGateway }: Engine): Promise<unknown> => JSON.parse((await ask(ownGateway)).body ?? '')

describe('/ready on the port of the gateway', () => {
  test('is 200 until the node begins to stop', async () => {
    await withEngine(async ({ engine }) => {
      expect(await ask(engine.ownGateway)).toMatchObject({ status: 200, body: '{"status":"ok"}' })
      await engine.announceStop()
      const stopping = await ask(engine.ownGateway)
      expect(stopping).toMatchObject({ status: 503, body: '{"status":"stopping"}' })
      expect(stopping.headers['cache-control']).toBe('no-store')
      expect(await ask(engine.ownGateway, '/ready', { method: 'HEAD' })).toMatchObject({ status: 503, body: null })
    })
  })

  test('stays 200 while the disk is full', async () => {
    await withEngine(
      async ({ engine, clock }) => {
        await expect
          .poll(async () => {
            clock.advance(10_000)
            return (await callApi(engine, 'GET', '/ready')).json.status
          })
          .toBe('full')
        expect(await statusOf(engine)).toEqual({ status: 'ok' })
      },
      { disk: { reserveBytes: Number.MAX_SAFE_INTEGER } },
    )
  })

  test.each(['gone', 'replaced'])('is 503 while the directory of blocks is %s', async how => {
    await withEngine(async ({ engine, clock, dataDir }) => {
      const blocks = join(dataDir, 'blocks')
      await rename(blocks, `${blocks}-aside`)
      if (how === 'replaced') await mkdir(blocks)
      clock.advance(2_000)
      await expect.poll(() => statusOf(engine)).toEqual({ status: 'no-storage' })
    })
  })

  test('belongs to the content on a content host', async () => {
    await withEngine(
      async ({ engine }) => {
        const host = `bafkqaaa.ipfs.${HOST}`
        expect((await ask(engine.ownGateway, '/ready', { host })).body).not.toContain('status')
        expect((await ask(engine.ownGateway, '/ready', { host: HOST })).status).toBe(200)
        expect((await ask(engine.ownGateway, '/ready', { method: 'POST' })).status).toBe(405)
      },
      { gateway: { host: HOST } },
    )
  })

  test('is the same from each thread that reads', async () => {
    await withEngine(async ({ engine }) => {
      const readers = await threadReaders(engine)
      try {
        const all = async () => (await readers.getFromAll('/ready')).map(({ status, text }) => [status, text])
        expect(await all()).toEqual(Array(2).fill([200, '{"status":"ok"}']))
        await engine.announceStop()
        expect(await all()).toEqual(Array(2).fill([503, '{"status":"stopping"}']))
      } finally {
        await readers.stop()
      }
    })
  })
})
