import { lookup, resolveTxt } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { Multiaddr } from '@multiformats/multiaddr'
import { isPrivateAddress } from '../outgoing/private-address.ts'
import { parseAddress } from './addresses.ts'

/** Looks up host names. */
export interface Names {
  /** IP addresses of a host. */
  addresses(host: string): Promise<string[]>
  /** TXT records of a name. */
  texts(name: string): Promise<string[]>
}

export const systemNames: Names = {
  addresses: async host => (await lookup(host, { all: true })).map(({ address }) => address),
  texts: async name => (await resolveTxt(name)).map(parts => parts.join('')),
}

const NAMES = new Set(['dns', 'dns4', 'dns6'])
const DNSADDR = 'dnsaddr='
/** How many addresses a name may lead to, and by how many others. */
const MOST_ADDRESSES = 16
const MOST_STEPS = 3

/**
 * Whether it can be told from an address alone, before any name is looked up, that it leads into a private network or
 * to this host: a private or otherwise reserved IP address, a name of this host, a unix socket.
 */
export function leadsInside(address: Multiaddr): boolean {
  const [first] = address.getComponents()
  const { name = '', value = '' } = first ?? {}
  if (name === 'ip4' || name === 'ip6') return isPrivateAddress(value)
  if (NAMES.has(name) || name === 'dnsaddr') return isOwnName(value)
  return name === 'unix' || name === 'ip6zone' || name === 'memory'
}

/**
 * The addresses on the public internet that multiaddrs lead to by TCP, names looked up. To connect to these, and to
 * nothing else, keeps a name from meaning something else a moment later.
 */
export async function publicAddresses(addresses: readonly Multiaddr[], names: Names): Promise<Multiaddr[]> {
  const found: Multiaddr[] = []
  let left = [...addresses]
  for (let steps = 0; left.length > 0 && steps <= MOST_STEPS; steps++) {
    const [here, further] = await lookUp(left.slice(0, MOST_ADDRESSES), names)
    found.push(...here)
    left = further
  }
  return found.slice(0, MOST_ADDRESSES)
}

/** What multiaddrs lead to, and the further ones that dnsaddr records name instead. */
async function lookUp(addresses: Multiaddr[], names: Names): Promise<[here: Multiaddr[], further: Multiaddr[]]> {
  const here: Multiaddr[] = []
  const further: Multiaddr[] = []
  for (const address of addresses) {
    if (leadsInside(address)) continue
    const [host, transport, end, ...more] = address.getComponents()
    if (host?.value === undefined) continue
    if (host.name === 'dnsaddr') further.push(...(await dnsaddrsOf(host.value, names)))
    // Through other transports, or by a relay, the node does not dial.
    if (transport?.name !== 'tcp' || more.length > 0 || (end !== undefined && end.name !== 'p2p')) continue
    const ips = NAMES.has(host.name) ? await names.addresses(host.value).catch(() => []) : [host.value]
    for (const ip of ips) {
      const version = isIP(ip)
      if (version === 0 || isPrivateAddress(ip)) continue
      here.push(parseAddress(`/ip${version}/${ip}/tcp/${transport.value}`))
    }
  }
  return [here, further]
}

async function dnsaddrsOf(host: string, names: Names): Promise<Multiaddr[]> {
  const texts = await names.texts(`_dnsaddr.${host}`).catch(() => [])
  return texts.slice(0, MOST_ADDRESSES).flatMap(text => {
    if (!text.startsWith(DNSADDR)) return []
    try {
      return [parseAddress(text.slice(DNSADDR.length))]
    } catch {
      return []
    }
  })
}

function isOwnName(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost')
}
