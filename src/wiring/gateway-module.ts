import type { CID } from 'multiformats/cid'
import { MemoryBudget } from '../concurrency/memory-budget.ts'
import { createGateway, gatewaySlots, openerOf } from '../gateway/gateway.ts'
import { Egress } from '../gateway/policy/account-egress.ts'
import { EgressCap } from '../gateway/policy/egress-cap.ts'
import { ContentReader } from '../gateway/reader/content-reader.ts'
import { ApartGateway } from '../gateway/site/documents-apart.ts'
import type { GatewayStatus } from '../gateway/site/readiness.ts'
import { identityOf } from '../ipld/cid.ts'
import { OwnedContent } from '../pins/owned-content.ts'
import type { AccessModule } from './access-module.ts'
import type { ClustersModule } from './clusters-module.ts'
import { memoryShares } from './memory-shares.ts'
import type { NetworkModule } from './network-module.ts'
import type { NodesModule } from './nodes-module.ts'
import type { PinsModule } from './pins-module.ts'
import type { Setup } from './setup.ts'
import type { StorageModule } from './storage-module.ts'

export type GatewayModule = ReturnType<typeof makeGateway>

interface Below {
  storage: StorageModule
  access: AccessModule
  clusters: ClustersModule
  network: NetworkModule
  nodes: NodesModule
  pins: PinsModule
}

/** Applies the same rules to the gateway and to the content reader for the host program. */
export function makeGateway(setup: Setup, below: Below) {
  const { config, clock, logger, metrics, activity, memoryBytes } = setup
  const { takedowns } = below.network
  const shares = memoryShares(memoryBytes)
  const maxConcurrentRequests = Math.min(config.gateway.maxConcurrentRequests, shares.responses)
  const options = { ...config.gateway, maxConcurrentRequests }
  const memory = MemoryBudget.of(shares.answers, clock)
  const dependencies = {
    memory,
    content: below.clusters.live,
    clock,
    logger,
    options,
    takedowns,
    arrivalOf: (cid: CID) => arrivalOf(below, cid),
    fetcher: below.network.node,
    others: below.nodes.member?.content ?? null,
  }
  const opener = openerOf(dependencies)
  const owned = new OwnedContent(below.storage.catalogue.records, below.storage.heldRoots, clock)
  const reader = new ContentReader({
    opener,
    isOwned: async (account, cid, signal) => {
      await below.access.accounts.get(account)
      return owned.has(account, cid, signal)
    },
    activity,
    clock,
  })
  const { holds, catalogue } = below.storage
  const holdOf = (rootId: number) => holds.ofRoot(rootId, { ends: clock.now(), id: '' }, 1)[0]?.id ?? null
  const { plans } = below.access
  const mostOf = (plan: string) => plans.get(plan).maxEgressBytes
  const egress = new Egress({ store: catalogue.egress, holdOf, mostOf, clock, logger, metrics })
  const isCapped = plans.names().some(plan => mostOf(plan) !== null)
  const cap = isCapped ? new EgressCap(clock, rootId => egress.waitOf(rootId)) : null
  const slots = gatewaySlots(options, clock)
  const parts = { ...dependencies, metrics, opener, slots, egress: egress.tally, cap }
  const apart = new ApartGateway(config.gateway)
  return {
    takedowns,
    options,
    slots,
    memory,
    egress,
    cap,
    stop: () => egress.stop(),
    arrivalOf: dependencies.arrivalOf,
    reader,
    apart,
    handler: createGateway({ ...parts, apart }),
    own: createGateway({ ...parts, options: { ...options, ownOrigin: true } }),
    status: () => gatewayStatus(setup, below.storage),
  }
}

/** Stays `ok` without the database, because this node's content needs none. */
function gatewayStatus({ ending }: Setup, { shared, isStorageGone }: StorageModule): GatewayStatus {
  if (ending.isAnnounced) return 'stopping'
  if (shared?.changes.health.problem === 'no-claim') return 'no-claim'
  return isStorageGone() ? 'no-storage' : 'ok'
}

/** Returns null if the CID is not being fetched. */
async function arrivalOf(
  { storage, clusters, pins }: Below,
  cid: CID,
): Promise<{ blocks: number; bytes: number } | null> {
  for (const { id } of clusters.registry.backends) {
    const fetch = await storage.catalogue.fetches.find(id, identityOf(cid))
    if (fetch === undefined) continue
    const attempt = pins.scheduler.attempt(fetch.id)
    if (attempt !== undefined) return attempt.totals
    if (fetch.nextAttemptAt !== null) return { blocks: 0, bytes: 0 }
  }
  return null
}
