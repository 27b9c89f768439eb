import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { toFetch } from '../../../adapters/fetch/index.ts'
import { type TestEngine, withEngine } from '../../support/test-engine.ts'

interface Remote extends TestEngine {
  /** URL of a server on this machine, without a slash at the end. */
  remote: string
  ask(body: object, signal?: AbortSignal): Promise<Response>
  /** Resolves when the server has lost a connection. */
  lost: Promise<void>
}

function withRemote(
  handler: RequestListener,
  run: (test: Remote) => Promise<void>,
  plan = 'unlimited',
  fromUrls: 'any' | 'public' | 'off' = 'any',
) {
  return withEngine(
    async given => {
      const { engine } = given
      const { promise: lost, resolve } = Promise.withResolvers<void>()
      const server = createServer((request, response) => {
        response.on('close', () => response.writableFinished || resolve())
        handler(request, response)
      })
      await once(server.listen(0, '127.0.0.1'), 'listening')
      const account = await given.newAccount(plan)
      const { secret } = await engine.keys.create(account, { name: 'k', scopes: ['files:write'] })
      const fetchOf = toFetch(engine)
      const ask = (body: object, signal?: AbortSignal) =>
        fetchOf(
          new Request('http://node/api/v3/files/url', {
            method: 'POST',
            headers: { 'x-api-key': secret, 'content-type': 'application/json' },
            body: JSON.stringify(body),
            ...(signal !== undefined && { signal }),
          }),
        )
      try {
        await run({
          ...given,
          account,
          ask,
          lost,
          remote: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        })
      } finally {
        server.closeAllConnections()
        server.close()
      }
    },
    { uploads: { fromUrls }, plans: { tiny: { maxFileBytes: 100_000, timelock: true, clusters: '*' } } },
  )
}

const endless: RequestListener = (_, response) => {
  const send = (): void => {
    while (response.write(Buffer.alloc(16_384)));
  }
  response.on('drain', send)
  send()
}

describe('an upload from a URL', () => {
  test('stores the file under the name in its path', () =>
    withRemote(
      (_, response) => response.end('a file of the web'),
      async ({ ask, remote, engine, account }) => {
        const answer = await ask({ url: `${remote}/a/photo%20one.txt`, meta: { album: 'Web' } })
        expect([answer.status, await answer.json()]).toMatchObject([201, { name: 'photo one.txt', size: 17 }])
        const named = await ask({ url: `${remote}/a/photo%20one.txt`, name: 'other' })
        expect(await named.json()).toMatchObject({ name: 'other' })
        const { items } = await engine.pins.list({ account })
        expect(items.map(({ name, meta }) => [name, meta]).toSorted()).toEqual([
          ['other', {}],
          ['photo one.txt', { album: 'Web' }],
        ])
      },
    ))

  test('ends at the size that the plan allows', () =>
    withRemote(
      endless,
      async ({ ask, remote, engine, account, lost }) => {
        const answer = await ask({ url: `${remote}/endless` })
        expect([answer.status, await answer.json()]).toMatchObject([413, { code: 'FILE_TOO_LARGE' }])
        await lost
        expect((await engine.pins.list({ account })).total).toBe(0)
      },
      'tiny',
    ))

  test('ends when its client leaves', () => {
    const leaving = new AbortController()
    const abandoned: RequestListener = (request, response) => {
      endless(request, response)
      setTimeout(() => leaving.abort(), 200)
    }
    return withRemote(abandoned, async ({ ask, remote, lost }) => {
      await Promise.allSettled([ask({ url: `${remote}/endless` }, leaving.signal)])
      await lost
    })
  })

  test('is refused for private addresses, and if the node reads no URLs', async () => {
    let asked = 0
    const count: RequestListener = (_, response) => response.end(String(asked++))
    await withRemote(
      count,
      async ({ ask, remote }) => {
        const answer = await ask({ url: remote })
        expect([answer.status, await answer.json()]).toMatchObject([
          400,
          { message: 'url must not lead to a private address' },
        ])
      },
      'unlimited',
      'public',
    )
    await withRemote(
      count,
      async ({ ask, remote }) => {
        expect((await ask({ url: remote })).status).toBe(403)
      },
      'unlimited',
      'off',
    )
    expect(asked).toBe(0)
  })
})
