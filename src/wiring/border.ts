import type { Border } from '../api.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { Content } from '../gateway/reader/content-request.ts'
import type { ApartGateway } from '../gateway/site/documents-apart.ts'
import { isContentHost } from '../gateway/site/subdomain.ts'
import type { ApiHandler, ApiResponse } from '../http/api-messages.ts'
import { requestedHost } from '../http/proxies.ts'
import type { Lifecycle } from './container.ts'
import type { GatewayModule } from './gateway-module.ts'
import type { HttpModule } from './http.ts'
import type { LaterModule } from './later-module.ts'
import { loadedBy, withOwnersApi } from './loaded-handlers.ts'
import { loaders } from './loaders.ts'
import type { Setup } from './setup.ts'
import type { SharedReadingModule } from './shared-reading-module.ts'

interface Below {
  /** Name of the sign-in provider. Null if the node has none. */
  signInProvider: string | null
  apart: ApartGateway
  gateway: LaterModule<GatewayModule>
  sharedReading: LaterModule<SharedReadingModule>
  http: LaterModule<HttpModule>
}

/**
 * Creates the handlers of an engine. They load what they serve when an adapter mounts them, or with their first request.
 *
 * @param isStopping true from the call of `stop` on, when each request is 503
 */
export function makeBorder(
  { config: { trustedProxies, gateway } }: Setup,
  { signInProvider, apart, ...later }: Below,
  isStopping: () => boolean,
): Border {
  const { host = null } = gateway
  const handler = <Name extends string>(
    name: Name,
    module: LaterModule<Lifecycle & Record<Name, ApiHandler>>,
  ): ApiHandler =>
    loadedBy(module, async request => {
      if (isStopping()) return stoppedResponse()
      if (module.made !== null) return module.made[name](request)
      try {
        return (await module.load())[name](request)
      } catch (error) {
        // A stop ends a load.
        if (isStopping()) return stoppedResponse()
        throw error
      }
    })
  /** The program may serve the gateway in threads, with which the engine shares its content. */
  const withThreads = { load: () => Promise.all([later.gateway.load(), later.sharedReading.load()]) }
  return {
    api: withOwnersApi(handler('api', later.http), handler('ownersApi', later.http)),
    gateway: handler('gateway', later.gateway),
    ownGateway: loadedBy(withThreads, handler('ownGateway', later.gateway)),
    trustedProxies,
    signInProvider,
    documentsAt: request => apart.baseFor(request),
    isContentHost: header =>
      isContentHost(requestedHost(header, trustedProxies), host) || isContentHost(header('host'), host),
  }
}

async function stoppedResponse(): Promise<ApiResponse> {
  const { errorResponse } = await loaders.errorResponse()
  return errorResponse(new HoldfastError('UNAVAILABLE', 'the node is stopping'), '')
}

/** Returns the content of an engine, whose reader is loaded by the first call. */
export function laterContent(gateway: LaterModule<GatewayModule>): Content {
  const reader = async (): Promise<Content> => (await gateway.load()).reader
  return {
    read: async request => (await reader()).read(request),
    stat: async request => (await reader()).stat(request),
    entries: async function* (request) {
      yield* (await reader()).entries(request)
    },
    exportCar: async request => (await reader()).exportCar(request),
  }
}
