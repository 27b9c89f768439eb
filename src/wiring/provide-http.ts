import { createAdminRoutes } from '../contract/admin-routes.ts'
import { createRoutes } from '../contract/routes.ts'
import type { Health, NodeStatus } from '../contract/services.ts'
import { createTakedownRoutes } from '../contract/takedowns.ts'
import { Slots } from '../domain/concurrency/slots.ts'
import type { EngineConfig } from '../domain/options.ts'
import { VERSION } from '../domain/version.ts'
import { isContentHost, withContentHosts } from '../gateway/site/subdomain.ts'
import { createApi } from '../http/pipeline.ts'
import { behindProxies, requestedHost } from '../http/proxies.ts'
import type { Parts } from './container.ts'
import { T } from './tokens.ts'

const MOST_UPLOADS = 256
const MOST_UPLOADS_PER_ACCOUNT = 64
const MOST_WAITING_UPLOADS = 1_024
const UPLOAD_WAIT_MS = 15_000

/** The API, as a function from request to response. Needs everything below. */
export function provideHttp(parts: Parts, { trustedProxies = 0, gateway = {}, uploads = {} }: EngineConfig): void {
  const { host = null } = gateway
  parts.provide(T.border, p => {
    const behind = behindProxies(trustedProxies, p.get(T.logger))
    return {
      api: behind(p.get(T.api)),
      gateway: behind(p.get(T.gateway)),
      trustedProxies,
      isContentHost: header =>
        isContentHost(requestedHost(header, trustedProxies), host) || isContentHost(header('host'), host),
    }
  })
  parts.provide(T.api, p => {
    const api = createApi({
      routes: [
        ...createRoutes({
          pins: p.get(T.pins),
          uploadSlots: new Slots(
            {
              capacity: uploads.maxConcurrent ?? MOST_UPLOADS,
              perOwner: uploads.maxPerAccount ?? MOST_UPLOADS_PER_ACCOUNT,
              waiting: MOST_WAITING_UPLOADS,
              waitMs: UPLOAD_WAIT_MS,
              what: 'what takes uploads in',
            },
            p.get(T.clock),
          ),
          clusters: p.get(T.clusters),
          keys: p.get(T.keys),
          accounts: p.get(T.accounts),
          logins: p.get(T.logins),
          sessions: p.get(T.sessions),
          sessionLists: p.get(T.sessionRegistry),
          signUp: p.get(T.signUp),
          passwords: p.get(T.passwords),
          secondFactor: p.get(T.secondFactor),
          scopes: p.get(T.scopes),
          plans: p.get(T.plans),
          peers: p.get(T.network),
          health: healthOf(p),
          version: VERSION,
        }),
        ...createAdminRoutes({
          backups: p.get(T.backups),
          statistics: p.get(T.statistics),
          collector: p.get(T.collector),
          verifier: p.get(T.verifier),
          reconciler: p.get(T.reconciler),
          accounts: p.get(T.accounts),
          sessions: p.get(T.sessionRegistry),
          pins: p.get(T.pins),
        }),
        ...createTakedownRoutes(p.get(T.takedowns)),
      ],
      authentication: p.get(T.authenticator),
      authorization: p.get(T.scopes),
      limits: p.get(T.limits),
      logger: p.get(T.logger),
      metrics: p.get(T.metrics),
      clock: p.get(T.clock),
    })
    return withContentHosts(api, p.get(T.gateway), host)
  })
}

function healthOf(parts: Parts): Health {
  const writes = parts.get(T.writes)
  const reserves = [...parts.get(T.reserves).values()]
  const status = (): NodeStatus => {
    if (writes.isBroken) return 'failed'
    return reserves.some(({ state }) => state?.isFull === true) ? 'full' : 'ok'
  }
  return { status }
}
