import type { Clock } from '../../src/domain/clock.ts'
import { withoutTrailingSlashes } from '../../src/domain/trailing-slashes.ts'
import { GatewayClient } from '../../src/outgoing/gateway-client.ts'
import { GatewaysReader } from './gateways-reader.ts'
import { type HttpClient, openHttpClient } from './http-client.ts'

export interface PlaceMeans {
  http: HttpClient
  /** Returns a reader that tries the gateways in this order and verifies every block. */
  readerOf(gateways: readonly string[]): GatewaysReader
  close(): Promise<void>
}

/**
 * Opens the HTTP connections, which the caller closes. Private addresses are allowed, because the operator configures
 * them.
 */
export function openPlaceMeans(clock: Clock): PlaceMeans {
  const http = openHttpClient()
  const gateway = new GatewayClient({ trusted: new Set(), allowPrivate: true })
  return {
    http,
    readerOf: gateways => new GatewaysReader(gateways.map(gatewayOrigin), gateway, clock),
    close: async () => {
      await Promise.all([http.close(), gateway.close()])
    },
  }
}

function gatewayOrigin(base: string): URL {
  return new URL(withoutTrailingSlashes(base).replace(/\/ipfs$/, ''))
}
