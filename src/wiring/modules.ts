import { type AccessModule, makeAccess } from './access-module.ts'
import { type BulkModule, makeBulk } from './bulk-module.ts'
import { type ClustersModule, makeClusters } from './clusters-module.ts'
import { type KnownModules, type Lifecycle, Modules, token } from './container.ts'
import { type ContentModule, makeContent } from './content-module.ts'
import { type EarlyGateway, makeEarlyGateway } from './early-gateway.ts'
import type { GatewayModule } from './gateway-module.ts'
import type { HttpModule } from './http.ts'
import { LaterModule } from './later-module.ts'
import { loaders } from './loaders.ts'
import { makeNetwork, type NetworkModule } from './network-module.ts'
import { makeNodeWork } from './node-work-module.ts'
import { makeNodes, type NodesModule } from './nodes-module.ts'
import { makePins, type PinsModule } from './pins-module.ts'
import type { Setup } from './setup.ts'
import type { SharedReadingModule } from './shared-reading-module.ts'
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
  earlyGateway: token<EarlyGateway>('early gateway'),
  gateway: token<LaterModule<GatewayModule>>('gateway'),
  sharedReading: token<LaterModule<SharedReadingModule>>('shared reading'),
  http: token<LaterModule<HttpModule>>('http'),
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
  M.http,
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
  modules.provide(M.network, m => makeNetwork(setup, m.get(M.storage), m.get(M.clusters), loaders.network))
  modules.provide(M.nodes, m => makeNodes(setup, m.get(M.storage), m.get(M.clusters)))
  modules.provide(M.pins, m => makePins(setup, below(m)))
  modules.provide(M.bulk, m => makeBulk(setup, { ...below(m), pins: m.get(M.pins) }))
  modules.provide(M.nodeWork, m => makeNodeWork(setup, { ...below(m), pins: m.get(M.pins) }))
  modules.provide(M.webhooks, m => makeWebhooks(setup, { storage: m.get(M.storage), pins: m.get(M.pins) }))
  modules.provide(M.upkeep, m => makeUpkeep(setup, { ...below(m), pins: m.get(M.pins) }))
  modules.provide(M.earlyGateway, () => makeEarlyGateway(setup))
  provideLater(modules, setup)
  try {
    await modules.start(ORDER)
    if (mayRefuseGateway(setup)) await modules.get(M.gateway).load()
    return modules
  } catch (error) {
    await modules.stop()
    await stores.close()
    throw error
  }
}

/** Provides the modules that an engine needs only for what it serves to others. */
function provideLater(modules: Modules, setup: Setup): void {
  modules.provide(M.gateway, m => {
    const parts = { ...below(m), pins: m.get(M.pins), early: m.get(M.earlyGateway) }
    return new LaterModule(async () => (await loaders.gateway()).makeGateway(setup, parts))
  })
  modules.provide(M.sharedReading, m => {
    const [gateway, parts] = [m.get(M.gateway), { ...below(m), memory: m.get(M.earlyGateway).memory }]
    return new LaterModule(async () => {
      const { makeSharedReading } = await loaders.sharedReading()
      return makeSharedReading(setup, { ...parts, gateway: await gateway.load() })
    })
  })
  modules.provide(M.http, m => {
    const rest = { pins: m.get(M.pins), bulk: m.get(M.bulk), upkeep: m.get(M.upkeep), webhooks: m.get(M.webhooks) }
    const [gateway, parts] = [m.get(M.gateway), { ...below(m), ...rest }]
    return new LaterModule(async () => {
      const { makeHttp } = await loaders.http()
      return makeHttp(setup, { ...parts, gateway: await gateway.load() })
    })
  })
}

/** Returns whether only the gateway can check its configuration, which must refuse the start. */
function mayRefuseGateway({ config: { gateway } }: Setup): boolean {
  return gateway.mode === 'open' || gateway.mode === 'allow-list' || gateway.denylist !== undefined
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
