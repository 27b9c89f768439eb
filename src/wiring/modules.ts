import type { Border } from '../api.ts'
import { type AccessModule, makeAccess } from './access-module.ts'
import { type BulkModule, makeBulk } from './bulk-module.ts'
import { type ClustersModule, makeClusters } from './clusters-module.ts'
import { type KnownModules, type Lifecycle, Modules, token } from './container.ts'
import { type ContentModule, makeContent } from './content-module.ts'
import { type GatewayModule, makeGateway } from './gateway-module.ts'
import { makeHttp } from './http.ts'
import { makeNetwork, type NetworkModule } from './network-module.ts'
import { makeNodeWork } from './node-work-module.ts'
import { makeNodes, type NodesModule } from './nodes-module.ts'
import { makePins, type PinsModule } from './pins-module.ts'
import type { Setup } from './setup.ts'
import { makeSharedReading, type SharedReadingModule } from './shared-reading-module.ts'
import { makeStorage, type StorageModule } from './storage-module.ts'
import { openStores } from './stores.ts'
import { makeUpkeep, type UpkeepModule } from './upkeep-module.ts'
import { makeWebhooks, type WebhooksModule } from './webhooks-module.ts'

/** A module may use only the modules listed before it. */
export const M = {
  storage: token<StorageModule>('storage'),
  access: token<AccessModule>('access'),
  content: token<ContentModule>('content'),
  clusters: token<ClustersModule>('clusters'),
  network: token<NetworkModule>('network'),
  nodes: token<NodesModule>('nodes'),
  pins: token<PinsModule>('pins'),
  bulk: token<BulkModule>('bulk'),
  nodeWork: token<Lifecycle>('node work'),
  webhooks: token<WebhooksModule>('webhooks'),
  upkeep: token<UpkeepModule>('upkeep'),
  gateway: token<GatewayModule>('gateway'),
  sharedReading: token<SharedReadingModule>('shared reading'),
  http: token<Border>('http'),
}

/** Start order. The modules stop in reverse order. */
const ORDER = [
  M.storage,
  M.access,
  M.content,
  M.clusters,
  M.network,
  M.pins,
  M.bulk,
  M.webhooks,
  M.upkeep,
  M.gateway,
  M.sharedReading,
  M.nodeWork,
]

/**
 * Starts all modules. On failure, everything is stopped again.
 * @throws HoldfastError the errors of {@link openStores}
 */
export async function startModules(setup: Setup): Promise<Modules> {
  const stores = await openStores(setup)
  const modules = new Modules()
  modules.provide(M.storage, () => makeStorage(setup, stores))
  modules.provide(M.access, m => makeAccess(setup, m.get(M.storage)))
  modules.provide(M.content, m => makeContent(setup, m.get(M.storage)))
  modules.provide(M.clusters, m => makeClusters(setup, m.get(M.storage), m.get(M.content)))
  modules.provide(M.network, m => makeNetwork(setup, m.get(M.storage), m.get(M.clusters)))
  modules.provide(M.nodes, m => makeNodes(setup, m.get(M.storage), m.get(M.clusters)))
  modules.provide(M.pins, m => makePins(setup, below(m)))
  modules.provide(M.bulk, m => makeBulk(setup, { ...below(m), pins: m.get(M.pins) }))
  modules.provide(M.nodeWork, m => makeNodeWork(setup, { ...below(m), pins: m.get(M.pins) }))
  modules.provide(M.webhooks, m => makeWebhooks(setup, { storage: m.get(M.storage), pins: m.get(M.pins) }))
  modules.provide(M.upkeep, m => makeUpkeep(setup, { ...below(m), pins: m.get(M.pins) }))
  modules.provide(M.gateway, m => makeGateway(setup, { ...below(m), pins: m.get(M.pins) }))
  modules.provide(M.sharedReading, m => makeSharedReading(setup, { ...below(m), gateway: m.get(M.gateway) }))
  modules.provide(M.http, m =>
    makeHttp(setup, {
      ...below(m),
      pins: m.get(M.pins),
      bulk: m.get(M.bulk),
      upkeep: m.get(M.upkeep),
      gateway: m.get(M.gateway),
      webhooks: m.get(M.webhooks),
    }),
  )
  try {
    await modules.start(ORDER)
    modules.get(M.http)
    return modules
  } catch (error) {
    await modules.stop()
    await stores.close()
    throw error
  }
}

function below(modules: KnownModules) {
  return {
    storage: modules.get(M.storage),
    access: modules.get(M.access),
    content: modules.get(M.content),
    clusters: modules.get(M.clusters),
    network: modules.get(M.network),
    nodes: modules.get(M.nodes),
  }
}
