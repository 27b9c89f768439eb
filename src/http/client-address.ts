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

/** Groups of an IPv6 address by which networks are told apart: what one customer is usually given. */
const NETWORK_GROUPS = 4
const MAPPED = '::ffff:'

/** Who a client counts as where something is shared by address: an IPv4 address, or an IPv6 network of 64 bits. */
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
