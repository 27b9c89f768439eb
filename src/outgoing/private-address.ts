import { BlockList, isIP } from 'node:net'

/** Loopback, private, link-local and special-use networks, as address and prefix length. */
const RESERVED_IPV4: ReadonlyArray<[string, number]> = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
]

/** IPv6 global unicast addresses. {@link RESERVED_IPV6} lists its subnets that are not public. */
const PUBLIC_IPV6: readonly [string, number] = ['2000::', 3]
const RESERVED_IPV6: ReadonlyArray<[string, number]> = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
]

const reserved = new BlockList()
for (const [network, prefix] of RESERVED_IPV4) reserved.addSubnet(network, prefix, 'ipv4')
for (const [network, prefix] of RESERVED_IPV6) reserved.addSubnet(network, prefix, 'ipv6')
const publicIpv6 = new BlockList()
publicIpv6.addSubnet(...PUBLIC_IPV6, 'ipv6')

/** Returns true for addresses outside the public internet, and for text that is not an IP address. */
export function isPrivateAddress(address: string): boolean {
  const version = isIP(address)
  if (version === 4) return reserved.check(address, 'ipv4')
  if (version === 6) return !publicIpv6.check(address, 'ipv6') || reserved.check(address, 'ipv6')
  return true
}
