import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { needs } from './needs.ts'

/** A proxy that adds TLS and HTTP/2 to a port, with a certificate of an authority of its own. */
export interface TlsFront {
  /** On `localhost`. */
  url: string
  /** File with the certificate of the authority. */
  authority: string
  /** Passes requests to this port from now on. */
  forwardTo(port: number): void
  close(): Promise<void>
}

export const needsOpenssl = needs(hasOpenssl(), 'there is no openssl')

function hasOpenssl(): boolean {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Listens before its target does, because the target's configuration names the public URL. */
export async function startTlsFront(): Promise<TlsFront> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-tls-'))
  makeCertificates(directory)
  const [key, cert] = ['server.key', 'server.pem'].map(name => readFileSync(join(directory, name)))
  let target = 0
  const server = createSecureServer({ key, cert, allowHTTP1: true }, (request, response) => {
    pass(request, response, target)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const sessions = new Set<{ destroy(): void }>()
  server.on('session', session => sessions.add(session))
  server.on('secureConnection', socket => sessions.add(socket))
  return {
    url: `https://localhost:${(server.address() as AddressInfo).port}`,
    authority: join(directory, 'authority.pem'),
    forwardTo: port => {
      target = port
    },
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      for (const session of sessions) session.destroy()
      await closed
      rmSync(directory, { recursive: true })
    },
  }
}

/** Headers that HTTP/2 does not have. */
const OF_CONNECTION = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade'])

function pass(request: Http2ServerRequest, response: Http2ServerResponse, port: number): void {
  const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !name.startsWith(':')))
  const options = { port, host: '127.0.0.1', path: request.url, method: request.method, headers }
  const passed = http.request(options, answer => {
    const kept = Object.entries(answer.headers).filter(([name]) => !OF_CONNECTION.has(name))
    response.writeHead(answer.statusCode ?? 502, Object.fromEntries(kept))
    answer.pipe(response)
  })
  passed.on('error', () => response.destroy())
  request.pipe(passed)
}

function makeCertificates(directory: string): void {
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: directory, stdio: 'ignore' })
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout']
  writeFileSync(join(directory, 'names'), 'subjectAltName=DNS:localhost')
  openssl('req', '-x509', ...key, 'authority.key', '-days', '2', '-out', 'authority.pem', '-subj', '/CN=test authority')
  openssl('req', ...key, 'server.key', '-out', 'server.csr', '-subj', '/CN=localhost')
  const signer = ['-CA', 'authority.pem', '-CAkey', 'authority.key', '-CAcreateserial']
  openssl('x509', '-req', '-in', 'server.csr', ...signer, '-days', '2', '-extfile', 'names', '-out', 'server.pem')
}
