import type { CID } from 'multiformats/cid'
import { HoldfastError } from '../../domain/errors.ts'
import type { ApiHandler } from '../../http/api-messages.ts'
import { LONGEST_LABEL, labelOfCid } from '../../ipld/cid.ts'

/** A parsed `Host` header, with its port. */
export interface GatewayHost {
  /** The label before `.ipfs.`, in lower case; null for the gateway's own name. */
  label: string | null
  /** The gateway's own name, with the port. */
  base: string
}

/**
 * Parses a `Host` header. Returns null for a host that is neither the gateway nor content below it.
 *
 * @param header the `Host` header
 * @param name the gateway's name, without port
 */
export function parseHost(header: string | undefined, name: string): GatewayHost | null {
  const [, host = '', port = ''] = /^([^:]*)(:\d+)?$/.exec(header?.trim().toLowerCase() ?? '') ?? []
  const base = name + port
  if (host === name) return { label: null, base }
  const suffix = `.ipfs.${name}`
  if (!host.endsWith(suffix)) return null
  return { label: host.slice(0, -suffix.length), base }
}

/**
 * Returns the label of a CID in a host name: version 1, in a case-insensitive base.
 *
 * @throws HoldfastError `INVALID_CID` if it is too long for a label
 */
export function labelOf(cid: CID): string {
  const label = labelOfCid(cid)
  if (label !== null) return label
  throw tooLong('path')
}

/** @throws HoldfastError `INVALID_CID` if the label is too long for DNS */
export function checkLabel(label: string): void {
  if (label.length > LONGEST_LABEL) throw tooLong('host')
}

function tooLong(field: string): HoldfastError {
  return new HoldfastError(
    'INVALID_CID',
    `${field} has a CID incompatible with DNS label length limit of ${LONGEST_LABEL}`,
  )
}

/**
 * Returns a handler that sends requests for content hosts to the gateway and all others to the API.
 *
 * @param name the gateway's name; null for none
 */
export function withContentHosts(api: ApiHandler, gateway: ApiHandler, name: string | null): ApiHandler {
  if (name === null) return api
  return request => (isContentHost(request.header('host'), name) ? gateway(request) : api(request))
}

/** Returns whether a `Host` header is a content host, below the gateway's name. */
export function isContentHost(header: string | undefined, name: string | null): boolean {
  const host = name === null ? null : parseHost(header, name)
  return host !== null && host.label !== null
}
