import type { AddressInfo, Server } from 'node:net'
import { HoldfastError } from '../../src/domain/errors.ts'

/**
 * Makes a server listen. Returns the port.
 * @param port port to listen on; 0 for any free port
 * @throws HoldfastError `UNAVAILABLE` if the server cannot listen at this address
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

export function localUrl(host: string, port: number): string {
  return `http://${urlHost(reachable(host))}:${port}`
}

/** Puts an IPv6 address in brackets. */
export function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

/** Replaces the addresses that mean all interfaces, because clients cannot connect to them. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  return host === '::' ? '::1' : host
}
