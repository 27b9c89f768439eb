import { type Principal, SCOPES } from '../access/principal.ts'
import type { Border } from '../api.ts'
import { Slots } from '../concurrency/slots/slots.ts'
import { bindRoutes } from '../contract/contract-route.ts'
import { RememberedAnswers } from '../contract/remembered-answers.ts'
import { routeTable } from '../contract/routes.ts'
import type { NodeStatus, Services } from '../contract/services.ts'
import type { Plan } from '../domain/plan.ts'
import { VERSION } from '../domain/version.ts'
import { withContentHosts } from '../gateway/site/subdomain.ts'
import type { ApiHandler } from '../http/api-messages.ts'
import { createApi } from '../http/pipeline.ts'
import type { BackupModule } from './backup-module.ts'
import type { Lifecycle } from './container.ts'
import type { FeaturesModule } from './features-module.ts'
import type { GatewayModule } from './gateway-module.ts'
import type { LaterModule } from './later-module.ts'
import { loaders } from './loaders.ts'
import { memoryShares } from './memory-shares.ts'
import type { PinModules } from './pins-module.ts'
import type { Setup } from './setup.ts'
import type { SignInModule } from './sign-in-module.ts'
import type { UndoModule } from './undo-module.ts'
import type { UpkeepModule } from './upkeep-module.ts'
import type { UpkeepWorkModule } from './upkeep-work-module.ts'

const NO_LIMITS = { take: () => null, takeFailure: () => undefined }
const MOST_WAITING_UPLOADS = 1_024
const UPLOAD_WAIT_MS = 15_000

interface Below extends PinModules {
  undo: UndoModule
  upkeep: UpkeepModule
  features: FeaturesModule
  signIn: LaterModule<SignInModule>
  gateway: LaterModule<GatewayModule>
  upkeepWork: LaterModule<UpkeepWorkModule>
  backup: LaterModule<BackupModule>
}

/** `ownersApi` treats every request as one of the owner. */
export type HttpModule = Pick<Border, 'api'> & { ownersApi: ApiHandler } & Lifecycle

export async function makeHttp(setup: Setup, below: Below): Promise<HttpModule> {
  await Promise.all([below.pins.loadAll(), loaders.httpClient()])
  const [features, gateway] = [await below.features.load(), await below.gateway.load()]
  const { host = null } = setup.config.gateway
  const { clock, logger, metrics } = setup
  const { member } = below.nodes
  const { scopes } = below.access
  const { authenticator, limits } = await below.signIn.load()
  const parts = {
    routes: bindRoutes(routeTable(features.added).groups, await servicesOf(setup, below, gateway)),
    authorization: scopes,
    logger,
    metrics,
    clock,
    errorAt: features.errorAt,
  }
  const api = createApi({
    ...parts,
    authentication: authenticator,
    limits,
    audit: features.audit,
    otherNodes: member?.forwarding(() => uploadSlots(setup)) ?? null,
  })
  const principal = ownerInProcess(below.access.plans.get('unlimited'))
  const ownersApi = createApi({ ...parts, authentication: { authenticate: async () => principal }, limits: NO_LIMITS })
  const fromClients = gateway.behind(withContentHosts(api, gateway.handler, host))
  return { api: member?.receiving(api, fromClients) ?? fromClients, ownersApi }
}

/** Returns the owner as a program on the data directory. No account and no credential is stored. */
function ownerInProcess(plan: Plan): Principal {
  const account = { id: '', email: '', name: null, plan: plan.name, defaultCluster: null, createdAt: 0, owner: null }
  return {
    account: { ...account, defaultVisibility: 'public', role: 'owner', disabled: false },
    plan,
    credential: { kind: 'key', id: '', name: null, scopes: SCOPES, expiresAt: null },
  }
}

async function servicesOf(
  setup: Setup,
  { access, pins, upkeep, ...below }: Below,
  { takedowns, egress }: GatewayModule,
): Promise<Services> {
  const { verifier, reconciler } = await below.upkeepWork.load()
  return {
    ...access,
    ...(await below.signIn.load()),
    ...upkeep,
    pins: pins.service,
    uploadSlots: uploadSlots(setup),
    rememberedAnswers: new RememberedAnswers({
      versions: below.storage.versions,
      clock: setup.clock,
      mostBytes: memoryShares(setup.memoryBytes).remembered,
    }),
    clusters: below.clusters.registry,
    sessionLists: access.sessionRegistry,
    peers: below.network,
    health: {
      status: () => nodeStatus(setup, below.storage),
      storageProblem: below.storage.storageProblem,
      probed: isReady => setup.probes.answered('api', isReady),
    },
    collect: below.undo.collect,
    verifier,
    reconciler,
    backups: (await below.backup.load()).backups,
    takedowns,
    egress,
    fleet: below.storage.shared?.fleet?.nodes ?? null,
    enableVisibility: async () => below.storage.shared?.enableVisibility(),
    version: VERSION,
    hasConsole: setup.config.console === true,
  }
}

function uploadSlots({ config: { uploads }, clock }: Setup): Slots {
  const bounds = {
    capacity: uploads.maxConcurrent,
    perOwner: uploads.maxPerAccount,
    waiting: MOST_WAITING_UPLOADS,
    waitMs: UPLOAD_WAIT_MS,
    what: 'the upload queue',
  }
  return new Slots(bounds, clock)
}

function nodeStatus({ ending }: Setup, { isBroken, reserves, shared, storageProblem }: Below['storage']): NodeStatus {
  if (isBroken()) return 'failed'
  if (ending.isAnnounced) return 'stopping'
  const problem = shared?.changes.health.problem ?? null
  if (problem !== null) return problem
  if (storageProblem() !== null) return 'no-storage'
  return [...reserves.values()].some(({ state }) => state?.isFull === true) ? 'full' : 'ok'
}
