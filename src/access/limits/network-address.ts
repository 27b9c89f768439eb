import { BlockList, isIP, isIPv4 } from 'node:net'

/** Removes the zone, and converts an IPv4 address mapped into IPv6 back to IPv4. */
function plainAddress(address: string): string {
  const withoutZone = address.split('%', 1)[0] ?? ''
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(withoutZone)?.[1]
  return mapped !== undefined && isIPv4(mapped) ? mapped : withoutZone
}

/** Returns the address that identifies a client: for IPv6 the /64 network, because one client can own a whole /64. */
export function clientOf(address: string): string {
  const plain = plainAddress(address)
  if (isIP(plain) !== 6) return plain
  const [head = '', tail] = plain.toLowerCase().split('::')
  const groups = groupsOf(head)
  if (tail !== undefined) {
    const after = groupsOf(tail)
    // A tail in IPv4 notation counts as two groups.
    const missing = 8 - groups.length - after.length - (tail.includes('.') ? 1 : 0)
    groups.push(...Array.from({ length: Math.max(0, missing) }, () => '0'), ...after)
  }
  return `${groups
    .slice(0, 4)
    .map(group => group.replace(/^0+(?=.)/, ''))
    .join(':')}::/64`
}

/** List of IP addresses and of networks in CIDR notation, such as `192.0.2.7` and `2001:db8::/32`. */
export class AddressList {
  readonly #entries: readonly Network[]
  readonly #list = new BlockList()

  /** @throws RangeError, which names the first entry that is neither an address nor a network */
  constructor(entries: readonly string[]) {
    this.#entries = entries.map(parseNetwork)
    for (const { address, prefix, family } of this.#entries) this.#list.addSubnet(address, prefix, family)
  }

  has(address: string): boolean {
    const plain = plainAddress(address)
    const version = isIP(plain)
    return version !== 0 && this.#list.check(plain, version === 4 ? 'ipv4' : 'ipv6')
  }

  /** Returns whether each entry of the other list lies within a single entry of this list. */
  covers(other: AddressList): boolean {
    return other.#entries.every(inner =>
      this.#entries.some(outer => {
        if (outer.family !== inner.family || outer.prefix > inner.prefix) return false
        const network = new BlockList()
        network.addSubnet(outer.address, outer.prefix, outer.family)
        return network.check(inner.address, inner.family)
      }),
    )
  }
}

interface Network {
  address: string
  prefix: number
  family: 'ipv4' | 'ipv6'
}

function parseNetwork(entry: string): Network {
  const [address = '', length, ...rest] = entry.split('/')
  const version = address.includes('%') ? 0 : isIP(address)
  const bits = version === 4 ? 32 : 128
  const prefix = length === undefined ? bits : /^\d{1,3}$/.test(length) ? Number(length) : Number.NaN
  if (version === 0 || rest.length > 0 || !(prefix <= bits)) {
    throw new RangeError(`${JSON.stringify(entry)} is neither an IP address nor a network such as 192.0.2.0/24`)
  }
  const plain = plainAddress(address)
  if (version === 6 && isIPv4(plain) && prefix >= 96) return { address: plain, prefix: prefix - 96, family: 'ipv4' }
  return { address, prefix, family: version === 4 ? 'ipv4' : 'ipv6' }
}

function groupsOf(part: string): string[] {
  return part === '' ? [] : part.split(':')
}
