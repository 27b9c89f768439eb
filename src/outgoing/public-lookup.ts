import { lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { isPrivateAddress } from './private-address.ts'

/** Thrown where a host is at an address that it must not be at. */
export class PrivateAddressError extends Error {
  override readonly message = 'the name leads to a private address'
}

/** Whether a URL names a host that is not on the public internet, as far as can be told without looking it up. */
export function namesPrivateHost(url: URL): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  if (host === 'localhost' || host.endsWith('.localhost')) return true
  return isIP(host) !== 0 && isPrivateAddress(host)
}

/** Checks every address at the moment of connecting, so that a name cannot point elsewhere a second later. */
export const lookupPublic = publicLookup(systemLookup as LookupFunction)

export function publicLookup(lookup: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, [])
      const addresses = typeof found === 'string' ? [{ address: found, family: isIP(found) }] : found
      if (addresses.some(({ address }) => isPrivateAddress(address))) return callback(new PrivateAddressError(), [])
      if (options.all === true) return callback(null, addresses)
      callback(null, addresses[0]?.address ?? '', addresses[0]?.family)
    })
  }
}
