import type { AddressInfo, Server } from 'node:net'
import { HoldfastError } from '../../src/domain/errors.ts'

/**
 * Has a server listen. Returns the port that it has.
 *
 * @param port 0 for any free one
 * @throws HoldfastError `UNAVAILABLE`
 */
export async function listen(server: Server, host: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', cause => {
      reject(new HoldfastError('UNAVAILABLE', `cannot listen on ${host}:${port}: ${cause.message}`, { cause }))
    })
    server.listen(port, host, resolve)
  })
  return (server.address() as AddressInfo).port
}

/** Where this machine reaches what listens there. */
export function localUrl(host: string, port: number): string {
  return `http://${urlHost(reachable(host))}:${port}`
}

/** A host as it stands in a URL. */
export function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

/** The addresses that mean every interface are none to connect to. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  return host === '::' ? '::1' : host
}
