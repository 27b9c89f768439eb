import { lookup, resolveTxt } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { Multiaddr } from '@multiformats/multiaddr'
import { isPrivateAddress } from '../outgoing/private-address.ts'
import { parseAddress } from './addresses.ts'

export interface Names {
  addresses(host: string): Promise<string[]>
  texts(name: string): Promise<string[]>
}

export const systemNames: Names = {
  addresses: async host => (await lookup(host, { all: true })).map(({ address }) => address),
  texts: async name => (await resolveTxt(name)).map(parts => parts.join('')),
}

const NAMES = new Set(['dns', 'dns4', 'dns6'])
const DNSADDR = 'dnsaddr='
/** Maximum number of addresses to which one list of multiaddrs may resolve. */
const MOST_ADDRESSES = 16
/** Maximum length of a chain of `dnsaddr` records. */
const MOST_STEPS = 3

/** Returns whether an address leads into a private network or to this host. Does not look up names. */
export function leadsInside(address: Multiaddr): boolean {
  const [first] = address.getComponents()
  const { name = '', value = '' } = first ?? {}
  if (name === 'ip4' || name === 'ip6') return isPrivateAddress(value)
  if (NAMES.has(name) || name === 'dnsaddr') return isOwnName(value)
  return name === 'unix' || name === 'ip6zone' || name === 'memory'
}

/**
 * Resolves names, and returns only public addresses. The caller must dial only these, because a second lookup of a name
 * could return a private address.
 */
export async function publicAddresses(addresses: readonly Multiaddr[], names: Names): Promise<Multiaddr[]> {
  const found: Multiaddr[] = []
  let left = [...addresses]
  for (let steps = 0; left.length > 0 && steps <= MOST_STEPS; steps++) {
    const [resolved, further] = await lookUp(left.slice(0, MOST_ADDRESSES), names)
    found.push(...resolved)
    left = further
  }
  return found.slice(0, MOST_ADDRESSES)
}

/** Looks up each address once. The caller must look up the `further` multiaddrs from `dnsaddr` records next. */
async function lookUp(addresses: Multiaddr[], names: Names): Promise<[resolved: Multiaddr[], further: Multiaddr[]]> {
  const resolved: Multiaddr[] = []
  const further: Multiaddr[] = []
  for (const address of addresses) {
    if (leadsInside(address)) continue
    const [host, transport, end, ...more] = address.getComponents()
    if (host?.value === undefined) continue
    if (host.name === 'dnsaddr') further.push(...(await dnsaddrsOf(host.value, names)))
    // The node dials only TCP addresses without a relay.
    if (transport?.name !== 'tcp' || more.length > 0 || (end !== undefined && end.name !== 'p2p')) continue
    const ips = NAMES.has(host.name) ? await names.addresses(host.value).catch(() => []) : [host.value]
    for (const ip of ips) {
      const version = isIP(ip)
      if (version === 0 || isPrivateAddress(ip)) continue
      resolved.push(parseAddress(`/ip${version}/${ip}/tcp/${transport.value}`))
    }
  }
  return [resolved, further]
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
