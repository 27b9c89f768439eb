import type { ApiHandler } from '../http/types.ts'

/** What an engine shows to those who serve it. */
export interface Border {
  /** The v3 contract, without a socket. */
  readonly api: ApiHandler
  /** `/ipfs/<cid>/<path>`, without a socket. */
  readonly gateway: ApiHandler
  /** How many proxies stand between the clients and the node, by its configuration. */
  readonly trustedProxies: number
  /** Whether a request, known by its headers, is for content on a host name of its own, where nothing else answers. */
  isContentHost(header: (name: string) => string | undefined): boolean
}
