import { isIP } from 'node:net'

/**
 * Returns the address of the client behind `trustedProxies` proxies. Each proxy appends the address of its own client
 * to `X-Forwarded-For`. Entries that the trusted proxies have not appended may be forged.
 *
 * @param remoteAddress IP address at the other end of the socket
 * @param forwardedFor the `X-Forwarded-For` header; repeated headers are joined with commas
 * @returns the address, or undefined if the entry for the client is not an IP address
 */
export function clientAddress(
  remoteAddress: string | undefined,
  forwardedFor: string | undefined,
  trustedProxies: number,
): string | undefined {
  if (trustedProxies === 0 || forwardedFor === undefined || forwardedFor.trim() === '') return remoteAddress
  const entries = forwardedFor.split(',')
  // If there are fewer entries than proxies, the client has bypassed some proxies. The first entry still comes from a
  // proxy.
  return addressOf(entries[Math.max(0, entries.length - trustedProxies)] ?? '')
}

/** Returns the IP address in an entry. Some proxies append a port, and then put an IPv6 address in brackets. */
function addressOf(entry: string): string | undefined {
  const text = entry.trim()
  if (isIP(text) !== 0) return text
  const address = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([^:]+):\d+$/.exec(text)?.[1]
  return address !== undefined && isIP(address) !== 0 ? address : undefined
}

/** Number of leading groups of an IPv6 address that identify the network of one customer. Four groups are 64 bits. */
const NETWORK_GROUPS = 4
const MAPPED = '::ffff:'

/** Returns the key of a client for rate limits: its IPv4 address, or the first 64 bits of its IPv6 address. */
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
