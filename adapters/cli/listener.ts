import type { AddressInfo, Server } from 'node:net'
import { HoldfastError } from '../../src/domain/errors.ts'

/**
 * Makes a server listen, and returns its port.
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

/** Returns the URL of a listening server for this machine. */
export function localUrl(host: string, port: number): string {
  return `http://${urlHost(reachable(host))}:${port}`
}

/** Formats a host for a URL. */
export function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

/** Replaces the addresses for every interface, which clients cannot connect to. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  return host === '::' ? '::1' : host
}
