import type { AddressInfo, Server } from 'node:net'
import { HoldfastError } from '../../src/domain/errors.ts'

/** Reasons in place of Node's codes. */
const REASONS = new Map([
  ['EADDRINUSE', 'another program uses the port: stop that program, or choose another port'],
  ['EACCES', 'this user may not use the port: choose one from 1024 on'],
  ['EADDRNOTAVAIL', 'this machine does not have the address: choose another'],
  ['ENOTFOUND', 'the host name is unknown: choose another'],
])

/**
 * Makes a server listen. Returns the port.
 * @param port port to listen on; 0 for any free port
 * @throws HoldfastError `UNAVAILABLE` if the server cannot listen at this address
 */
export async function listen(server: Server, host: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', cause => {
      reject(cannotListen(`${host}:${port}`, '--host and --port', cause))
    })
    server.listen(port, host, resolve)
  })
  return (server.address() as AddressInfo).port
}

/**
 * Creates the error `UNAVAILABLE` for an address.
 * @param settings flags or variables that choose the address
 */
export function cannotListen(address: string, settings: string, cause: NodeJS.ErrnoException): HoldfastError {
  const reason = REASONS.get(cause.code ?? '')
  const problem = reason === undefined ? cause.message : `${reason} with ${settings}`
  return new HoldfastError('UNAVAILABLE', `cannot listen on ${address}: ${problem}`, { cause })
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
