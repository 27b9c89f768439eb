import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ApiRequest } from '../../src/index.ts'
import { arrivedBodyOf, type BodyPace, bodyOf } from './incoming-body.ts'

/**
 * @param path path below the mount prefix
 * @param invite sends `100 Continue` before the first read of the body, if the client waits for it
 */
export function toApiRequest(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  path: string,
  invite: () => void,
  pace?: BodyPace,
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
    arrived: () => arrivedBodyOf(incoming),
    signal: gone.signal,
    scheme: 'encrypted' in incoming.socket ? 'https' : 'http',
    remoteAddress: incoming.socket.remoteAddress,
  }
}

/** Leaves both parts percent-encoded. Some proxies send an absolute URL as the request target. */
export function splitTarget(incoming: IncomingMessage): [path: string, query: string] {
  const target = (incoming.url ?? '/').replace(/^https?:\/\/[^/?]*/i, '')
  const mark = target.indexOf('?')
  return mark === -1 ? [target, ''] : [target.slice(0, mark), target.slice(mark + 1)]
}

function headerOf(incoming: IncomingMessage, name: string): string | undefined {
  const value = incoming.headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}
