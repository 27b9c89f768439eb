import http, { type ServerResponse } from 'node:http'

/** An error response sent without the engine, in the engine's format. The connection is closed afterwards. */
export interface Refusal {
  status: number
  code: string
  message: string
}

export function refuse(outgoing: ServerResponse, refusal: Refusal): void {
  const { headers, body } = written(refusal)
  outgoing.writeHead(refusal.status, headers)
  outgoing.end(body)
}

/** Formats a refusal for a socket: a request that Node could not parse has no `ServerResponse`. */
export function refusalText(refusal: Refusal, ...lines: string[]): string {
  const { headers, body } = written(refusal)
  const own = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return [`HTTP/1.1 ${refusal.status} ${http.STATUS_CODES[refusal.status]}`, ...own, ...lines, '', body].join('\r\n')
}

function written({ status, code, message }: Refusal): { headers: Record<string, string>; body: string } {
  const body = JSON.stringify({ error: http.STATUS_CODES[status], message, code })
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'access-control-allow-origin': '*',
    'x-content-type-options': 'nosniff',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  }
  return { headers, body }
}
