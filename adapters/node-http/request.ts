import type { IncomingMessage, ServerResponse } from 'node:http'
import { type ApiRequest, HoldfastError } from '../../src/index.ts'

/** A client that sends nothing for this long while its body is waited for is gone. */
export const IDLE_MS = 120_000

/** What a body has to bring while it is waited for: over each span of waiting so much on average. */
export interface BodyPace {
  bytesPerSecond: number
  spanMs: number
}

const PACE: BodyPace = { bytesPerSecond: 512, spanMs: IDLE_MS }

/**
 * The border's request for Node's own. `path` is the path below the mount prefix. `invite` is called before the first
 * byte of the body is read, for clients that wait for `100 Continue`.
 */
export function toApiRequest(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  path: string,
  invite: () => void,
  pace: BodyPace = PACE,
): ApiRequest {
  const gone = new AbortController()
  const abort = (): void => {
    if (!outgoing.writableFinished) gone.abort()
  }
  incoming.on('error', abort)
  outgoing.on('error', abort)
  outgoing.on('close', abort)
  const [, query = ''] = splitTarget(incoming)
  return {
    method: incoming.method ?? 'GET',
    path,
    query,
    header: name => headerOf(incoming, name),
    body: bodyOf(incoming, invite, abort, pace),
    signal: gone.signal,
    scheme: 'encrypted' in incoming.socket ? 'https' : 'http',
    remoteAddress: incoming.socket.remoteAddress,
  }
}

/** Path and query of the request target, percent-encoding kept; proxies may send it as an absolute URL. */
export function splitTarget(incoming: IncomingMessage): [path: string, query: string] {
  const target = (incoming.url ?? '/').replace(/^https?:\/\/[^/?]*/i, '')
  const mark = target.indexOf('?')
  return mark === -1 ? [target, ''] : [target.slice(0, mark), target.slice(mark + 1)]
}

function headerOf(incoming: IncomingMessage, name: string): string | undefined {
  const value = incoming.headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

/** Stays open when it is read only in part: what is left is drained after the answer. */
async function* bodyOf(
  incoming: IncomingMessage,
  invite: () => void,
  abort: () => void,
  pace: BodyPace,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (incoming.readableDidRead) {
    const before = 'the body was read before it reached Holdfast, which belongs before whatever parses bodies'
    throw new HoldfastError('VALIDATION', before)
  }
  const { socket } = incoming
  const timeout = socket.timeout ?? 0
  invite()
  socket.setTimeout(IDLE_MS)
  try {
    yield* inPace(incoming.iterator({ destroyOnReturn: false }), pace)
  } catch (error) {
    abort()
    throw error
  } finally {
    socket.setTimeout(timeout)
  }
}

/** Only the waiting counts: how long the chunks are worked on is not the client's doing. */
async function* inPace(
  chunks: AsyncIterable<Uint8Array>,
  { bytesPerSecond, spanMs }: BodyPace,
): AsyncGenerator<Uint8Array, void, undefined> {
  let waited = 0
  let bytes = 0
  let asked = performance.now()
  for await (const chunk of chunks) {
    waited += performance.now() - asked
    bytes += chunk.byteLength
    if (waited >= spanMs) {
      if (bytes * 1_000 < bytesPerSecond * waited) {
        throw new HoldfastError('VALIDATION', `the body comes too slowly: below ${bytesPerSecond} bytes a second`)
      }
      waited = 0
      bytes = 0
    }
    yield chunk
    asked = performance.now()
  }
}
