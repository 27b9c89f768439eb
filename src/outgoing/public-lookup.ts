import { lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { isPrivateAddress } from './private-address.ts'

export class PrivateAddressError extends Error {
  override readonly message = 'the name leads to a private address'
}

/** Checks for `localhost` or a private IP address. Does not resolve other host names. */
export function namesPrivateHost(url: URL): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  if (host === 'localhost' || host.endsWith('.localhost')) return true
  return isIP(host) !== 0 && isPrivateAddress(host)
}

/**
 * Resolves a host name and refuses private addresses. The connection uses the checked addresses, so the name cannot
 * resolve differently after the check.
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
