import { isIP } from 'node:net'

/**
 * Who sent a request that came through `trustedProxies` proxies. Each of them adds the address that it was reached
 * from at the right of `X-Forwarded-For`; what stands further left may be anything that the client likes.
 *
 * @param remoteAddress the other end of the socket
 * @param forwardedFor the whole header, repeated ones joined with commas
 * @returns undefined if the entry that counts is no address
 */
export function clientAddress(
  remoteAddress: string | undefined,
  forwardedFor: string | undefined,
  trustedProxies: number,
): string | undefined {
  if (trustedProxies === 0 || forwardedFor === undefined || forwardedFor.trim() === '') return remoteAddress
  const entries = forwardedFor.split(',')
  // Fewer entries than proxies: it came in further down, and all of them were added by proxies.
  return addressOf(entries[Math.max(0, entries.length - trustedProxies)] ?? '')
}

/** Some proxies add the port, and IPv6 addresses come in brackets then. */
function addressOf(entry: string): string | undefined {
  const text = entry.trim()
  if (isIP(text) !== 0) return text
  const address = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([^:]+):\d+$/.exec(text)?.[1]
  return address !== undefined && isIP(address) !== 0 ? address : undefined
}
