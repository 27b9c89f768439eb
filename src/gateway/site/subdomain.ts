import type { CID } from 'multiformats/cid'
import { HoldfastError } from '../../domain/errors.ts'
import type { ApiHandler } from '../../http/api-messages.ts'
import { LONGEST_LABEL, labelOfCid } from '../../ipld/cid.ts'

/** A host name as requests carry it, with the port if there is one. */
export interface GatewayHost {
  /** The label before `.ipfs.`, in lower case; null for the gateway's own name. */
  label: string | null
  /** The gateway's own name, with the port. */
  base: string
}

/**
 * Tells whether a request is for the gateway of that name, or for content below it. Null for any other host.
 *
 * @param header the `Host` header
 * @param name of the gateway, without port
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
 * How a CID stands in a host name: its version 1, in letters that have no case.
 *
 * @throws HoldfastError `INVALID_CID` if it is too long for a label.
 */
export function labelOf(cid: CID): string {
  const label = labelOfCid(cid)
  if (label !== null) return label
  throw tooLong('path')
}

/** @throws HoldfastError `INVALID_CID` for a label that no resolver would take. */
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
 * The API's handler with the requests taken out that are for content on a host name of its own: whatever their path,
 * they are the gateway's.
 *
 * @param name of the gateway; null for none
 */
export function withContentHosts(api: ApiHandler, gateway: ApiHandler, name: string | null): ApiHandler {
  if (name === null) return api
  return request => (isContentHost(request.header('host'), name) ? gateway(request) : api(request))
}

/** Whether a host name is one that a root has of its own, below the gateway's name. */
export function isContentHost(header: string | undefined, name: string | null): boolean {
  const host = name === null ? null : parseHost(header, name)
  return host !== null && host.label !== null
}
