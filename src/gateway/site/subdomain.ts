import type { CID } from 'multiformats/cid'
import { HoldfastError } from '../../domain/errors.ts'
import type { ApiHandler } from '../../http/api-messages.ts'
import { LONGEST_LABEL, labelOfCid } from '../../ipld/cid.ts'

export interface GatewayHost {
  /** The label before `.ipfs.`, in lower case. Null if the host is the gateway's own name. */
  label: string | null
  /** The gateway's own host name, with the port of the header. */
  base: string
}

/**
 * Parses a `Host` header. Returns null if the host is neither the gateway nor a content host below the gateway.
 *
 * @param name host name of the gateway, without port
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
 * Returns the CID in version 1 and a case-insensitive multibase.
 *
 * @throws HoldfastError `INVALID_CID` if the CID is too long for a DNS label
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
 * Passes requests for content hosts to the gateway, and all other requests to the API.
 *
 * @param name host name of the gateway; null if the gateway has no content hosts
 */
export function withContentHosts(api: ApiHandler, gateway: ApiHandler, name: string | null): ApiHandler {
  if (name === null) return api
  return request => (isContentHost(request.header('host'), name) ? gateway(request) : api(request))
}

export function isContentHost(header: string | undefined, name: string | null): boolean {
  const host = name === null ? null : parseHost(header, name)
  return host !== null && host.label !== null
}
