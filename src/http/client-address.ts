import { isIP } from 'node:net'

/**
 * Returns the address of the client behind `trustedProxies` proxies. Each proxy appends the address of its own client
 * to `X-Forwarded-For`. Entries further left may be forged.
 *
 * @param remoteAddress the other end of the socket
 * @param forwardedFor the whole header, repeated ones joined with commas
 * @returns undefined if the deciding entry is not an address
 */
export function clientAddress(
  remoteAddress: string | undefined,
  forwardedFor: string | undefined,
  trustedProxies: number,
): string | undefined {
  if (trustedProxies === 0 || forwardedFor === undefined || forwardedFor.trim() === '') return remoteAddress
  const entries = forwardedFor.split(',')
  // With fewer entries than proxies, the client has bypassed some of them, but every entry comes from a proxy.
  return addressOf(entries[Math.max(0, entries.length - trustedProxies)] ?? '')
}

/** Parses an entry. Some proxies append the port, with IPv6 addresses in brackets. */
function addressOf(entry: string): string | undefined {
  const text = entry.trim()
  if (isIP(text) !== 0) return text
  const address = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([^:]+):\d+$/.exec(text)?.[1]
  return address !== undefined && isIP(address) !== 0 ? address : undefined
}

/** Leading groups of an IPv6 address that form a network: 64 bits, the usual size for one customer. */
const NETWORK_GROUPS = 4
const MAPPED = '::ffff:'

/** Returns the key by which clients share a limit: an IPv4 address, or an IPv6 network of 64 bits. */
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
