import { once } from 'node:events'
import http, { type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { MessageChannel } from 'node:worker_threads'
import { describe, expect, test } from 'vitest'
import { sendResponse } from '../../../adapters/node-http/response.ts'
import { ReaderThread } from '../../../adapters/node-http/started-reader.ts'
import { StreamBody } from '../../../src/http/stream-body.ts'
import { createEngine, type Engine, type Logger } from '../../../src/index.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { newDirectory } from '../../support/new-database.ts'
import { withTempDir } from '../../support/temp-dir.ts'
import { beginReading, type ThreadReaders, threadReaders } from '../../support/thread-readers.ts'

const MIB = 1024 ** 2

interface Served {
  engine: Engine
  readers: ThreadReaders
  messages: string[]
}

function served(run: (served: Served) => Promise<void>): Promise<void> {
  return withTempDir(async dataDir => {
    const messages: string[] = []
    const keep = (_: object, message: string): void => void messages.push(message)
    const logger: Logger = { debug: keep, info: keep, warn: keep, error: keep }
    // A takedown waits for its threads as long as they need.
    const engine = await createEngine({
      dataDir: newDirectory(dataDir),
      singleUser: true,
      logger,
      clock: new ManualClock(Date.now()),
    })
    const readers = await threadReaders(engine, { threads: 2, logger })
    try {
      await run({ engine, readers, messages })
    } finally {
      await readers.stop()
      await engine.stop()
    }
  })
}

const ENDED = 'gateway response failed midway'

describe('a takedown', () => {
  test('ends responses that nobody reads, and waits for all threads', async () => {
    await served(async ({ engine, readers, messages }) => {
      const { record } = await engine.pins.upload(pseudoRandom(24 * MIB, 'stalled'))
      const { record: other } = await engine.pins.upload(pseudoRandom(24 * MIB, 'another'))
      const stalled = await Promise.all(Array.from({ length: 4 }, () => beginReading(readers, `/ipfs/${record.cid}`)))
      const goesOn = await beginReading(readers, `/ipfs/${other.cid}`)
      expect((await engine.takedowns.add({ cid: record.cid, reason: 'x' })).pending).toEqual([])
      await expect.poll(() => messages.filter(message => message === ENDED).length).toBe(4)
      let bytes = 0
      for await (const chunk of goesOn) bytes += (chunk as Buffer).length
      expect(bytes).toBe(24 * MIB)
      for (const answer of stalled) await expect(answer.toArray()).rejects.toThrow()
      expect((await engine.takedowns.remove({ cid: record.cid })).pending).toEqual([])
    })
  })

  test('replaces a thread whose event loop is blocked', async () => {
    await served(async ({ engine, readers, messages }) => {
      const { record } = await engine.pins.upload(Buffer.from('behind a blocked thread'))
      const blocked = expect(readers.get('/', { 'x-wish': 'hang' })).rejects.toThrow()
      expect((await engine.takedowns.add({ cid: record.cid, reason: 'x' })).pending).toEqual([])
      await blocked
      expect(messages).toContain('gateway thread hangs, replacing it')
    })
  })
})

test('an ended response closes its connection, though nobody reads it', async () => {
  let chunks = 0
  const body = StreamBody.of(
    (async function* () {
      for (; ; chunks++) yield new Uint8Array(64 * 1024)
    })(),
  )
  const begun = Promise.withResolvers<ServerResponse>()
  const server = http.createServer((incoming, outgoing) => {
    begun.resolve(outgoing)
    void sendResponse(incoming, outgoing, { status: 200, headers: {}, body }, () => true)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined)
  try {
    socket.write('GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n')
    const outgoing = await begun.promise
    // The buffers of both sockets are full once no chunk is asked for any more.
    let before = -1
    const isStalled = (): boolean => {
      const isSame = chunks === before
      before = chunks
      return isSame && outgoing.writableNeedDrain
    }
    await expect.poll(isStalled, { interval: 200 }).toBe(true)
    const closed = once(outgoing, 'close')
    body.fail(new Error('taken down'))
    await closed
  } finally {
    socket.destroy()
    server.close()
  }
})

test('a blocked thread that a takedown waits for is replaced sooner', async () => {
  const { port1, port2 } = new MessageChannel()
  const messages: string[] = []
  const ignore = (): void => undefined
  const ready = Promise.withResolvers<void>()
  const listeners = {
    logger: { debug: ignore, info: ignore, warn: ignore, error: (_: object, text: string) => messages.push(text) },
    metrics: undefined,
    ...{ onReady: () => ready.resolve(), onListening: ignore, onEnd: ignore },
  }
  const reading = { data: {}, port: port2, isAwaited: false, end: () => port1.close() }
  const data = { host: '127.0.0.1', port: 0, sharesPort: true, maxConnections: 16, traces: false }
  const entry = new URL(
    "data:text/javascript,import{parentPort}from'node:worker_threads';parentPort.postMessage([{kind:'ready'}]);for(;;);",
  )
  const stat = (): string => {
    throw new Error('no /proc')
  }
  const reader = new ReaderThread(reading, data, listeners, { entry, stat })
  await ready.promise
  reader.look(1_999)
  reading.isAwaited = true
  reader.look(0)
  expect(messages).toEqual([])
  reading.isAwaited = false
  reader.look(1)
  expect(messages).toEqual([])
  reading.isAwaited = true
  reader.look(0)
  expect(messages).toEqual(['gateway thread hangs, replacing it'])
  await reader.ended
})
