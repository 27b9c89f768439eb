import { lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { isPrivateAddress } from './private-address.ts'

/** The error for a host with a private address, to which connections are forbidden. */
export class PrivateAddressError extends Error {
  override readonly message = 'the name leads to a private address'
}

/** Returns whether the host in a URL is `localhost` or a private IP address. Other host names are not resolved. */
export function namesPrivateHost(url: URL): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  if (host === 'localhost' || host.endsWith('.localhost')) return true
  return isIP(host) !== 0 && isPrivateAddress(host)
}

/**
 * Resolves a host name and throws if one of its addresses is private. The connection uses the checked addresses, so the
 * name cannot resolve to another address after the check.
 */
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
