import http, { type IncomingMessage, type ServerResponse } from 'node:http'

/** Answers a request without an engine, in the shape of its errors, and closes the connection. */
export function refuse(outgoing: ServerResponse, status: number, code: string, message: string): void {
  const body = JSON.stringify({ error: http.STATUS_CODES[status], message, code })
  outgoing.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'access-control-allow-origin': '*',
    'x-content-type-options': 'nosniff',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  })
  outgoing.end(body)
}

/** Refuses a request that has no Host header, or several (RFC 9112). Returns whether it did. */
export function refusesHost({ httpVersion, rawHeaders }: IncomingMessage, outgoing: ServerResponse): boolean {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) if (rawHeaders[at]?.toLowerCase() === 'host') hosts++
  if (hosts === 1 || (hosts === 0 && httpVersion !== '1.1')) return false
  const problem = hosts === 0 ? 'a request of HTTP/1.1 needs a Host header' : 'a request has one Host header only'
  refuse(outgoing, 400, 'VALIDATION', problem)
  return true
}
