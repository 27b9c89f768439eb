import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { ANSWERED_HEADER, receiveForwarded } from '../../../adapters/fleet/forwarded.ts'
import { openNodeClient } from '../../../adapters/fleet/node-client.ts'
import { nodeReader } from '../../../adapters/fleet/node-reader.ts'
import { NO_CLIENT, NodeSender } from '../../../adapters/fleet/node-sender.ts'
import type { ApiRequest, ApiResponse } from '../../../src/http/api-messages.ts'
import { rawBlock } from '../../gateway/world.ts'
import { collect } from '../../support/bytes.ts'
import { ManualClock } from '../../support/manual-clock.ts'

const SECRET = new Uint8Array(32)
const RUN = 'the run'
const NOTHING_MORE = new AbortController().signal
const REQUEST = { method: 'POST', target: '/', headers: {}, body: null, signal: NOTHING_MORE, client: NO_CLIENT }

interface Asked {
  clock: ManualClock
  sender: NodeSender
  /** Resolves with the first request. */
  asked: Promise<unknown>
}

/** Runs with a sender and a server at the address of the node `there`. */
async function asking(
  listener: RequestListener,
  use: (asked: Asked) => Promise<void>,
  state: (isFresh?: boolean) => {
    isThere?: boolean
    isLeaving?: boolean
    run?: string | null
    readsFrames?: boolean
  } = () => ({}),
): Promise<void> {
  const clock = new ManualClock(0)
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = openNodeClient()
  const known = async (isFresh?: boolean) => [
    { id: 'there', url, isThere: true, isLeaving: false, run: RUN, readsFrames: true, ...state(isFresh) },
  ]
  const sender = new NodeSender({ self: 'asking', known, client, secret: SECRET, clock })
  try {
    await use({ clock, sender, asked: once(server, 'request') })
  } finally {
    await client.close()
    server.closeAllConnections()
    server.close()
  }
}

interface AsNode {
  isWhole?: boolean
  /** Gets the body of each accepted request. */
  body?: string[]
}

/** Answers with the proof of the named node. */
const asNode =
  (self: string, answer: ApiResponse, { isWhole = true, body: seen = [] }: AsNode = {}): RequestListener =>
  async (request, response) => {
    const handler = async ({ body }: ApiRequest): Promise<ApiResponse> => {
      seen.push((await collect(body)).toString())
      return answer
    }
    const otherwise = async () => ({ status: 404, headers: {}, body: null })
    const receiver = (self: string) =>
      receiveForwarded({ self, run: RUN, secret: SECRET, now: () => 0 }, handler, otherwise)
    const taken: ApiRequest = {
      method: request.method ?? '',
      path: request.url ?? '',
      query: '',
      header: (name: string) => request.headers[name]?.toString(),
      body: request,
      signal: NOTHING_MORE,
      remoteAddress: '127.0.0.1',
    }
    const made = await receiver(self)(taken)
    response.writeHead(made.status, made.headers)
    const { body } = made
    if (isWhole && (body === null || typeof body === 'string')) response.end(body)
    else if (isWhole) Readable.from(body instanceof Uint8Array ? [body] : (body ?? [])).pipe(response)
    else response.write(Buffer.from('a'), () => response.destroy())
  }

test('waits for a stalled node until the catalogue reports it down', async () => {
  const said: Array<'there' | 'gone' | 'nothing'> = ['there', 'there', 'nothing', 'there', 'gone']
  const state = () => {
    const next = said.shift()
    if (next === 'nothing') throw new Error('no catalogue')
    return { isThere: next === 'there' }
  }
  const standStill: RequestListener = () => undefined
  await asking(
    standStill,
    async ({ clock, sender, asked }) => {
      const answer = sender.send('there', REQUEST)
      answer.catch(() => undefined)
      await asked
      while (said.length > 0) {
        clock.advance(5_000)
        await new Promise(resolve => setImmediate(resolve))
      }
      await expect(answer).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    },
    state,
  )
})

test('only reads from a node that is shutting down', async () => {
  let isLeaving = false
  const answers: Array<() => void> = []
  const answer = asNode('there', { status: 201, headers: {}, body: null })
  const listener: RequestListener = (...exchange) => void answers.push(() => answer(...exchange))
  await asking(
    listener,
    async ({ clock, sender, asked }) => {
      const begun = sender.send('there', REQUEST)
      await asked
      isLeaving = true
      await expect(sender.send('there', REQUEST)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
      for (let i = 0; i < 20; i++) {
        clock.advance(5_000)
        await new Promise(resolve => setImmediate(resolve))
      }
      answers[0]?.()
      expect((await begun).status).toBe(201)
      const read = sender.send('there', { ...REQUEST, whileLeaving: true })
      await expect.poll(() => answers).toHaveLength(2)
      answers[1]?.()
      expect((await read).status).toBe(503)
    },
    () => ({ isLeaving }),
  )
})

test('accepts an answer only from the requested node', async () => {
  const answer = { status: 201, headers: { etag: '"x"' }, body: 'kept' }
  await asking(asNode('there', answer), async ({ sender }) => {
    const { status, headers } = await sender.send('there', REQUEST)
    expect([status, headers.etag, headers[ANSWERED_HEADER]]).toEqual([201, '"x"', undefined])
  })
  await asking(asNode('other', answer), async ({ sender }) => {
    expect((await sender.send('there', REQUEST)).status).toBe(503)
  })
  let closed: Promise<unknown> | null = null
  const stranger: RequestListener = (request, response) => {
    closed = once(request.socket, 'close')
    response.writeHead(201, { [ANSWERED_HEADER]: 'made up' }).write('and it goes on')
  }
  await asking(stranger, async ({ sender }) => {
    await expect(sender.send('there', REQUEST)).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    // The sender closes the connection of a false answer.
    await closed
  })
})

test('an incomplete block or another server’s answer is unavailable', async () => {
  const [cid, bytes] = await rawBlock(Buffer.from('a block'))
  const answer = { status: 200, headers: { 'content-length': String(bytes.length) }, body: bytes }
  await asking(asNode('there', answer), async ({ clock, sender }) => {
    expect(await nodeReader(sender, 'there', clock).read(cid)).toEqual(bytes)
  })
  const broken = asNode('there', answer, { isWhole: false })
  const stranger: RequestListener = (_, response) => void response.end(bytes)
  for (const listener of [broken, stranger]) {
    await asking(listener, async ({ clock, sender }) => {
      await expect(nodeReader(sender, 'there', clock).read(cid)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    })
  }
})

test('sends a request again to a node that has started again', async () => {
  const requests: string[] = []
  const answer = asNode('there', { status: 201, headers: {}, body: null })
  const listener: RequestListener = (request, response) => {
    requests.push(request.method ?? '')
    return answer(request, response)
  }
  const stream = async function* () {
    yield Buffer.from('streamed')
  }
  await asking(
    listener,
    async ({ sender }) => {
      expect((await sender.send('there', REQUEST)).status).toBe(201)
      // A stream is sent once, so the sender asks first.
      expect((await sender.send('there', { ...REQUEST, body: stream() })).status).toBe(201)
    },
    isFresh => ({ run: isFresh === true ? RUN : 'an earlier run' }),
  )
  expect(requests).toHaveLength(3)
  await asking(
    listener,
    async ({ sender }) => expect((await sender.send('there', REQUEST)).status).toBe(201),
    isFresh => ({ isThere: isFresh === true }),
  )
  await asking(
    listener,
    async ({ sender }) => expect((await sender.send('there', REQUEST)).status).toBe(503),
    () => ({ run: 'an earlier run' }),
  )
  expect(requests).toHaveLength(5)
})

test('sends no request to a node of version 0.2.0', async () => {
  let isAsked = false
  const listener: RequestListener = (_, response) => {
    isAsked = true
    response.end()
  }
  await asking(
    listener,
    async ({ sender }) => {
      const message = 'the node there runs an older version: update it'
      await expect(sender.send('there', REQUEST)).rejects.toMatchObject({ code: 'UNAVAILABLE', message })
    },
    () => ({ run: null }),
  )
  expect(isAsked).toBe(false)
})

test('a request with a long Host is still forwarded', async () => {
  await asking(asNode('there', { status: 201, headers: {}, body: null }), async ({ sender }) => {
    const client = { ...NO_CLIENT, host: 'x'.repeat(8_000) }
    expect((await sender.send('there', { ...REQUEST, client })).status).toBe(201)
  })
})

test('sends a whole body with its length, or streams it', async () => {
  const seen: unknown[] = []
  const body: string[] = []
  const answer = asNode('there', { status: 201, headers: {}, body: null }, { body })
  const listener: RequestListener = (request, response) => {
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
    seen.push([length, encoding])
    return answer(request, response)
  }
  await asking(listener, async ({ sender }) => {
    const stream = (async function* () {
      yield Buffer.from('streamed')
    })()
    for (const body of [Buffer.from('whole'), stream, Buffer.alloc(0), null]) {
      expect((await sender.send('there', { ...REQUEST, body })).status).toBe(201)
    }
  })
  expect(body).toEqual(['whole', 'streamed', '', ''])
  expect(seen).toEqual([
    ['5', undefined],
    [undefined, 'chunked'],
    ['0', undefined],
    ['0', undefined],
  ])
})

test('streams to a node of version 0.3.0 what that version reads', async () => {
  const received: unknown[] = []
  const listener: RequestListener = async (request, response) => {
    received.push([request.headers['content-length'], (await collect(request)).toString()])
    response.end()
  }
  const headers = { 'content-length': '8' }
  const stream = (async function* () {
    yield Buffer.from('streamed')
  })()
  await asking(
    listener,
    async ({ sender }) => {
      const answer = sender.send('there', { ...REQUEST, headers, body: stream })
      await expect(answer).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    },
    () => ({ readsFrames: false }),
  )
  expect(received).toEqual([['8', 'streamed']])
})

test('refuses a wrong or oversized block of another node', async () => {
  const [cid] = await rawBlock(Buffer.from('a block'))
  for (const body of [Buffer.from('another'), Buffer.alloc(4 * 1024 * 1024 + 1)]) {
    await asking(asNode('there', { status: 200, headers: {}, body }), async ({ clock, sender }) => {
      await expect(nodeReader(sender, 'there', clock).read(cid)).rejects.toMatchObject({ code: 'BLOCK_DAMAGED' })
    })
  }
})
