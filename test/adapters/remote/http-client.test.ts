import { describe, expect, test } from 'vitest'
import { type HttpClient, type HttpRequest, openHttpClient } from '../../../adapters/remote/http-client.ts'
import { hangUp, say, scriptedServer } from '../../support/scripted-server.ts'

async function withClient(use: (http: HttpClient) => Promise<void>): Promise<void> {
  const http = openHttpClient()
  try {
    await use(http)
  } finally {
    await http.close()
  }
}

const get = (url: string, signal = new AbortController().signal): HttpRequest => ({
  ...{ method: 'GET', url, headers: {}, signal },
})

describe('the HTTP client of external nodes', () => {
  test('returns the trailers of an answer', async () => {
    await withClient(async http => {
      await using server = await scriptedServer((_, response) => {
        response.writeHead(200, { trailer: 'X-Stream-Error' })
        response.write('a body')
        response.addTrailers({ 'X-Stream-Error': 'went wrong' })
        response.end()
      })
      const answer = await http.send(get(server.base))
      expect(answer).toMatchObject({ status: 200, text: 'a body', trailers: { 'x-stream-error': 'went wrong' } })
    })
  })

  test('follows no redirect and returns errors unchanged', async () => {
    await withClient(async http => {
      await using server = await scriptedServer(say(307, 'there', { location: '/elsewhere' }), say(500, 'no'))
      expect(await http.send(get(server.base))).toMatchObject({ status: 307, text: 'there' })
      expect(await http.send(get(server.base))).toMatchObject({ status: 500, text: 'no' })
      expect(server.seen).toHaveLength(2)
    })
  })

  test('aborts an endless answer', async () => {
    await withClient(async http => {
      let isOpen = false
      await using server = await scriptedServer((_, response) => {
        isOpen = true
        response.on('close', () => {
          isOpen = false
        })
        const more = (): void => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536, 'x')));
        }
        response.on('drain', more)
        more()
      })
      await expect(http.send(get(server.base))).rejects.toMatchObject({ code: 'UNAVAILABLE' })
      await expect.poll(() => isOpen).toBe(false)
    })
  })

  test('rejects an incomplete stream, and ends it with the signal', async () => {
    await withClient(async http => {
      const half = (_: unknown, response: import('node:http').ServerResponse): void => {
        response.writeHead(200)
        response.write('half')
      }
      await using server = await scriptedServer((request, response) => {
        half(request, response)
        response.socket?.end()
      }, half)
      const read = async (signal?: AbortSignal, got: () => void = () => undefined): Promise<void> => {
        const { body } = await http.stream(get(server.base, signal))
        for await (const _ of body) got()
      }
      await expect(read()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
      const controller = new AbortController()
      await expect(read(controller.signal, () => controller.abort(new Error('enough')))).rejects.toThrow('enough')
    })
  })

  test('reports a failed request body to the reader of the answer', async () => {
    await withClient(async http => {
      let heard = (): void => undefined
      await using server = await scriptedServer(
        request => void request.resume(),
        (request, response) => {
          request.resume()
          response.writeHead(200)
          response.write('half')
          heard()
        },
      )
      const { promise: isHeard, resolve } = Promise.withResolvers<void>()
      const body = async function* (until: Promise<void>): AsyncGenerator<Uint8Array> {
        yield Buffer.from('some')
        await until
        throw new TypeError('there is no more')
      }
      const post = { ...get(server.base), method: 'POST' as const }
      await expect(http.send({ ...post, body: body(Promise.resolve()) })).rejects.toThrow('there is no more')
      heard = resolve
      const read = async (): Promise<void> => {
        const answer = await http.stream({ ...post, body: body(isHeard) })
        for await (const _ of answer.body);
      }
      await expect(read()).rejects.toThrow('there is no more')
    })
  })

  test('reports a server that closes the connection as unavailable', async () => {
    await withClient(async http => {
      await using server = await scriptedServer(hangUp)
      await expect(http.send(get(server.base))).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    })
  })
})
