import type { Clock } from '../../src/domain/clock.ts'
import { withoutTrailingSlashes } from '../../src/domain/trailing-slashes.ts'
import { GatewayClient } from '../../src/outgoing/gateway-client.ts'
import { GatewaysReader } from './gateways-reader.ts'
import { type HttpClient, openHttpClient } from './http-client.ts'

/** The HTTP connections to the backend of a cluster. */
export interface PlaceMeans {
  http: HttpClient
  /** Returns a reader that tries gateways in the given order and verifies every block. */
  readerOf(gateways: readonly string[]): GatewaysReader
  close(): Promise<void>
}

/**
 * Opens the HTTP connections to the backend of a cluster. They may use private addresses, because the operator
 * configures the addresses. The caller closes the connections.
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
