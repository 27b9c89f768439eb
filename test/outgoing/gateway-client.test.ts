import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { GatewayClient, type GatewayClientOptions } from '../../src/outgoing/gateway-client.ts'
import { rawBlock, someBlocks } from '../network/support/blocks.ts'
import { withNodes } from '../network/support/node.ts'

const [block = rawBlock(Buffer.of())] = someBlocks(1, 100_000)
const never = new AbortController().signal

type Handler = (request: IncomingMessage, response: ServerResponse) => void

async function withServer<T>(handler: Handler, use: (base: URL) => Promise<T>): Promise<T> {
  const server = createServer(handler)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  try {
    return await use(new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

async function ask(base: URL, options: Partial<GatewayClientOptions> = {}, signal = never) {
  const client = new GatewayClient({ trusted: new Set(), allowPrivate: true, ...options })
  try {
    return await client.get(base, block.cid, signal)
  } finally {
    await client.close()
  }
}

const answering = (handler: Handler, options?: Partial<GatewayClientOptions>) =>
  withServer(handler, base => ask(base, options))

describe('a gateway', () => {
  test('receives a request for a raw block, and the block is verified', async () => {
    const seen: unknown[] = []
    const answer = await answering((request, response) => {
      seen.push(request.url, request.headers.accept)
      response.end(block.bytes)
    })
    expect(answer).toEqual({ kind: 'block', bytes: block.bytes })
    expect(seen).toEqual([`/ipfs/${block.cid}?format=raw`, 'application/vnd.ipld.raw'])
  })

  test('may lie below a path', async () => {
    const answer = await withServer(
      (request, response) => response.writeHead(request.url?.startsWith('/a/b/ipfs/') ? 200 : 404).end(block.bytes),
      base => ask(new URL('a/b', base)),
    )
    expect(answer).toMatchObject({ kind: 'block' })
  })

  test.each([404, 410, 412])('lacks the block if it answers %i', async status => {
    expect(await answering((_, response) => response.writeHead(status).end('no'))).toEqual({ kind: 'missing' })
  })

  test.each([
    [500, false],
    [504, false],
    [429, false],
    [403, true],
    [206, true],
  ])('fails with %i, finally: %s', async (status, final) => {
    const answer = await answering((_, response) => response.writeHead(status).end('oops'))
    expect(answer).toEqual({ kind: 'failed', reason: `HTTP ${status}`, final })
  })

  test('fails finally with wrong, missing or extra bytes', async () => {
    const wrong = { kind: 'failed', reason: 'sent the bytes of another block', final: true }
    expect(await answering((_, response) => response.end('other'))).toEqual(wrong)
    expect(await answering((_, response) => response.end(block.bytes.subarray(1)))).toEqual(wrong)
    expect(await answering((_, response) => response.end(Buffer.concat([block.bytes, Buffer.of(0)])))).toEqual(wrong)
  })

  test('is disconnected if its body does not end', async () => {
    let written = 0
    const answer = await answering((_, response) => {
      const piece = Buffer.alloc(64 * 1024)
      const more = (): void => {
        while (!response.destroyed && response.write(piece)) written += piece.length
      }
      response.on('drain', more)
      more()
    })
    expect(answer).toEqual({ kind: 'failed', reason: 'sent more than the largest block', final: true })
    expect(written).toBeLessThan(64 * 1024 * 1024)
  })

  test('may redirect three times, but not in a circle or without location', async () => {
    const redirecting = (hops: number): Handler => {
      let left = hops
      return (_, response) => {
        if (left-- === 0) response.end(block.bytes)
        else response.writeHead(302, { location: `/hop/${left}` }).end()
      }
    }
    expect(await answering(redirecting(3))).toMatchObject({ kind: 'block' })
    const circle = await answering(redirecting(Number.POSITIVE_INFINITY))
    expect(circle).toEqual({ kind: 'failed', reason: 'redirects too often', final: true })
    const nowhere = await answering((_, response) => response.writeHead(302).end())
    expect(nowhere).toEqual({ kind: 'failed', reason: 'redirects without a valid location', final: false })
  })

  test('fails by timeout or signal if it stops answering', async () => {
    const late = { kind: 'failed', reason: 'did not answer in time', final: false }
    expect(await answering(() => undefined, { timeoutMs: 100 })).toEqual(late)
    const stopping: Handler = (_, response) => response.write(block.bytes.subarray(0, 10))
    expect(await answering(stopping, { timeoutMs: 100 })).toEqual(late)
    const abort = new AbortController()
    const aborted = withServer(
      () => abort.abort(new Error('no longer wanted')),
      base => ask(base, {}, abort.signal),
    )
    await expect(aborted).rejects.toThrow('no longer wanted')
  })

  test('fails for now while slow gateways have all windows of decoders', async () => {
    const abort = new AbortController()
    const slow: Handler = (_, response) => response.writeHead(200, { 'content-encoding': 'br' }).flushHeaders()
    await withServer(slow, async base => {
      const asked = Array.from({ length: 5 }, () => ask(base, {}, abort.signal))
      const reason = 'the node already decodes as many files as it has memory for'
      expect(await Promise.race(asked)).toEqual({ kind: 'failed', reason, final: false })
      abort.abort(new Error('no longer wanted'))
      await Promise.allSettled(asked)
    })
  })

  test('is unreachable if no server listens', async () => {
    const gone = await withServer(
      () => undefined,
      async base => base,
    )
    expect(await ask(gone)).toEqual({ kind: 'failed', reason: 'could not be reached', final: false })
  })
})

describe('a private address', () => {
  const strict = { allowPrivate: false }
  const refused = { kind: 'failed', reason: 'could not be reached', final: true }

  test('is refused as a number or name, without a connection', async () => {
    let requests = 0
    const told: string[] = []
    const strict = { allowPrivate: false, onPrivate: ({ hostname }: URL) => void told.push(hostname) }
    await withServer(
      (_, response) => {
        requests++
        response.end(block.bytes)
      },
      async base => {
        expect(await ask(base, strict)).toEqual(refused)
        expect(await ask(new URL(`http://localhost:${base.port}`), strict)).toEqual(refused)
        const named = new URL(`http://${(await import('node:os')).hostname()}:${base.port}`)
        expect(await ask(named, strict)).toMatchObject({ kind: 'failed' })
        expect(requests).toBe(0)
        expect(told.slice(0, 2)).toEqual(['127.0.0.1', 'localhost'])
      },
    )
  })

  test('is allowed for a configured gateway, but not for its redirects', () =>
    withServer(
      (_, response) => response.end(block.bytes),
      inner =>
        withServer(
          (_, response) => response.writeHead(302, { location: inner.href }).end(),
          async outer => {
            expect(await ask(inner, { ...strict, trusted: new Set([inner.origin]) })).toMatchObject({ kind: 'block' })
            expect(await ask(outer, { ...strict, trusted: new Set([outer.origin]) })).toEqual(refused)
            const both = new Set([outer.origin, inner.origin])
            expect(await ask(outer, { ...strict, trusted: both })).toMatchObject({ kind: 'block' })
          },
        ),
    ))
})

describe('a session with gateways', () => {
  test('fetches from a configured gateway and refuses private ones as origins', () =>
    withServer(
      (request, response) =>
        request.url?.includes(String(block.cid)) ? response.end(block.bytes) : response.writeHead(404).end(),
      base =>
        withNodes(
          [() => ({ config: { gateways: [`${base.href}ipfs/`], allowPrivateGateways: false } })],
          async node => {
            expect(node.canAsk([])).toBe(true)
            const session = await node.open(block.cid, { origins: [], signal: never })
            expect(Buffer.from(await session.get(block.cid, { signal: never }))).toEqual(block.bytes)
            const missing = session.get(rawBlock(Buffer.from('missing')).cid, { signal: never })
            await expect(missing).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
            expect(session.providers()).toEqual([{ provider: `gateway ${base.origin}`, error: 'does not have it' }])
            for (const origin of [
              'http://127.0.0.1:1',
              'http://[::1]',
              'http://10.0.0.1',
              'https://localhost',
              'http://2130706433',
            ]) {
              await expect(node.open(block.cid, { origins: [origin], signal: never })).rejects.toMatchObject({
                code: 'VALIDATION',
                message: expect.stringContaining('is at a private address'),
              })
            }
          },
        ),
    ))

  test('drops a gateway after repeated failures and gives the reason', () => {
    let requests = 0
    return withServer(
      (_, response) => {
        requests++
        response.writeHead(500).end()
      },
      base =>
        withNodes([() => ({ config: { allowPrivateGateways: true } })], async node => {
          const session = await node.open(block.cid, { origins: [base.href], signal: never })
          await expect(session.get(block.cid, { signal: never })).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
          expect(session.providers()).toEqual([{ provider: `gateway ${base.origin}`, error: 'HTTP 500' }])
          expect(requests).toBe(3)
          await expect(session.get(block.cid, { signal: never })).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
          expect(requests).toBe(3)
        }),
    )
  })
})
