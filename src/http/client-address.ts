import { isIP } from 'node:net'

/**
 * Returns the client's address behind `trustedProxies` proxies, each of which appends its client's address to
 * `X-Forwarded-For`. Other entries may be forged.
 *
 * @param remoteAddress IP address at the other end of the socket
 * @param forwardedFor repeated headers are joined with commas
 * @returns undefined if the entry for the client is not an IP address
 */
export function clientAddress(
  remoteAddress: string | undefined,
  forwardedFor: string | undefined,
  trustedProxies: number,
): string | undefined {
  if (trustedProxies === 0 || forwardedFor === undefined || forwardedFor.trim() === '') return remoteAddress
  const entries = forwardedFor.split(',')
  // Fewer entries than proxies: the client bypassed some proxies. The first entry still comes from a proxy.
  return addressOf(entries[Math.max(0, entries.length - trustedProxies)] ?? '')
}

/** Returns the IP address in an entry. Some proxies append a port, and then put an IPv6 address in brackets. */
function addressOf(entry: string): string | undefined {
  const text = entry.trim()
  if (isIP(text) !== 0) return text
  const address = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([^:]+):\d+$/.exec(text)?.[1]
  return address !== undefined && isIP(address) !== 0 ? address : undefined
}
