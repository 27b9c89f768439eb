import { connect } from 'node:net'
import type { FuzzedRequest } from './requests.ts'

/** An answer must have begun within this. */
const PATIENCE_MS = 30_000

/**
 * Sends a request byte by byte as it is, on a connection of its own, and reads the answer to its end.
 *
 * @returns the status and the whole answer; status 0 for a connection that was closed without an answer
 */
export function send(port: number, request: FuzzedRequest): Promise<{ status: number; body: string }> {
  const head = [
    `${request.method} ${request.path} HTTP/1.1`,
    'host: 127.0.0.1',
    'connection: close',
    ...request.headers.map(([name, value]) => `${name}: ${value}`),
    `content-length: ${request.body.length}`,
  ].join('\r\n')
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect(port, '127.0.0.1')
    const finish = (): void => {
      const text = Buffer.concat(chunks).toString('latin1')
      const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0)
      resolve({ status, body: text })
    }
    socket.setTimeout(PATIENCE_MS, () => socket.destroy(new Error('no answer')))
    socket.on('data', chunk => chunks.push(chunk))
    socket.on('end', () => socket.end())
    socket.on('close', failed => {
      if (!failed) finish()
    })
    socket.on('error', error => {
      // A refusal may close the connection while the request is still being sent.
      if (chunks.length > 0 || 'code' in error) finish()
      else reject(error)
    })
    socket.write(Buffer.concat([Buffer.from(`${head}\r\n\r\n`, 'latin1'), request.body]))
  })
}
