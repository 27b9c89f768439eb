import { isIP } from 'node:net'

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
