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

/** Four groups (64 bits) identify the network of one customer. */
const NETWORK_GROUPS = 4
const MAPPED = '::ffff:'

/** Returns a client's key for rate limits: the IPv4 address, or the first 64 bits of the IPv6 address. */
export function shareOf(address: string | undefined): string {
  if (address === undefined) return 'unknown'
  const version = isIP(address)
  if (version !== 6) return address
  const plain = address.slice(0, MAPPED.length).toLowerCase() === MAPPED ? address.slice(MAPPED.length) : ''
  if (isIP(plain) === 4) return plain
  const [head = '', tail] = address.split('::')
  const groups = head.split(':').filter(group => group !== '')
  if (tail !== undefined) {
    const behind = tail.split(':').filter(group => group !== '')
    while (groups.length + behind.length < 8) groups.push('0')
    groups.push(...behind)
  }
  const network = groups.slice(0, NETWORK_GROUPS).map(group => Number.parseInt(group, 16).toString(16))
  return `${network.join(':')}::/64`
}
