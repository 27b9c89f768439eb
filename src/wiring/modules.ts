import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { TAKEDOWNS } from '../disk/file-names.ts'
import { ApartGateway } from '../gateway/site/documents-apart.ts'
import type { Database } from '../storage/database.ts'
import { type AccessModule, makeAccess } from './access-module.ts'
import type { BackupModule } from './backup-module.ts'
import { type ClustersModule, makeClusters } from './clusters-module.ts'
import { type KnownModules, type Lifecycle, Modules, token } from './container.ts'
import { type ContentModule, makeContent } from './content-module.ts'
import { type FeaturesModule, makeFeatures } from './features-module.ts'
import type { GatewayModule } from './gateway-module.ts'
import type { HttpModule } from './http.ts'
import { LaterModule } from './later-module.ts'
import { loaders } from './loaders.ts'
import { makeNetwork, type NetworkModule } from './network-module.ts'
import { makeNodes, type NodesModule } from './nodes-module.ts'
import { makePins, type PinsModule } from './pins-module.ts'
import type { Setup } from './setup.ts'
import type { SharedReadingModule } from './shared-reading-module.ts'
import type { SignInModule } from './sign-in-module.ts'
import { makeStorage, type StorageModule } from './storage-module.ts'
import { openStores } from './stores.ts'
import type { TakedownsModule } from './takedowns-module.ts'
import { makeUndo, type UndoModule } from './undo-module.ts'
import { makeUpkeep, type UpkeepModule } from './upkeep-module.ts'
import type { UpkeepWorkModule } from './upkeep-work-module.ts'

/** A module may use only the modules listed before it. */
export const M = {
  storage: token<StorageModule>('storage'),
  access: token<AccessModule>('access'),
  signIn: token<LaterModule<SignInModule>>('sign-in'),
  content: token<ContentModule>('content'),
  clusters: token<ClustersModule>('clusters'),
  takedowns: token<LaterModule<TakedownsModule>>('takedowns'),
  network: token<NetworkModule>('network'),
  nodes: token<NodesModule>('nodes'),
  pins: token<PinsModule>('pins'),
  undo: token<UndoModule>('undo periods'),
  features: token<FeaturesModule>('features'),
  upkeepWork: token<LaterModule<UpkeepWorkModule>>('upkeep work'),
  backup: token<LaterModule<BackupModule>>('backup'),
  upkeep: token<UpkeepModule>('upkeep'),
  apart: token<ApartGateway>('gateway apart'),
  gateway: token<LaterModule<GatewayModule>>('gateway'),
  sharedReading: token<LaterModule<SharedReadingModule>>('shared reading'),
  http: token<LaterModule<HttpModule>>('http'),
  nodeWork: token<LaterModule<Lifecycle>>('node work'),
}

/** Start order. The modules stop in reverse order. */
const ORDER = [
  M.storage,
  M.access,
  M.signIn,
  M.content,
  M.clusters,
  M.takedowns,
  M.network,
  M.pins,
  M.undo,
  M.features,
  M.upkeepWork,
  M.backup,
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
  const stores = await openStores(setup, loaders)
  const modules = new Modules()
  modules.provide(M.storage, () => makeStorage(setup, stores))
  modules.provide(M.access, m => makeAccess(setup, m.get(M.storage)))
  modules.provide(M.content, m => makeContent(setup, m.get(M.storage)))
  modules.provide(M.clusters, m => makeClusters(setup, m.get(M.storage), m.get(M.content)))
  modules.provide(M.network, m => {
    return makeNetwork(setup, m.get(M.storage), m.get(M.clusters), m.get(M.takedowns), loaders.network)
  })
  modules.provide(M.nodes, m => makeNodes(setup, m.get(M.storage), m.get(M.clusters)))
  modules.provide(M.pins, m => makePins(setup, below(m), loaders))
  modules.provide(M.undo, m => makeUndo(setup, { ...below(m), pins: m.get(M.pins) }))
  modules.provide(M.features, m => makeFeatures(setup, { ...below(m), pins: m.get(M.pins), undo: m.get(M.undo) }))
  modules.provide(M.upkeep, m => {
    const later = { upkeepWork: m.get(M.upkeepWork), backup: m.get(M.backup) }
    return makeUpkeep(setup, { ...below(m), pins: m.get(M.pins), ...later })
  })
  modules.provide(M.apart, () => new ApartGateway(setup.config.gateway))
  provideServing(modules, setup)
  provideWork(modules, setup)
  try {
    await modules.start(ORDER)
    return modules
  } catch (error) {
    await modules.stop()
    await stores.close()
    throw error
  }
}

/** Provides the modules that an engine needs only for what it serves to others. */
function provideServing(modules: Modules, setup: Setup): void {
  modules.provide(M.signIn, m => {
    const [storage, access] = [m.get(M.storage), m.get(M.access)]
    const make = async () => (await loaders.signIn()).makeSignIn(setup, storage, access)
    return new LaterModule(make, () => mayHaveIdentities(storage))
  })
  modules.provide(M.takedowns, m => {
    const [storage, clusters] = [m.get(M.storage), m.get(M.clusters)]
    const make = async () => (await loaders.takedowns()).makeTakedowns(setup, storage, clusters)
    return new LaterModule(make, () => mayHaveTakedowns(setup, storage))
  })
  modules.provide(M.gateway, m => {
    const parts = { ...below(m), pins: m.get(M.pins), apart: m.get(M.apart) }
    const [takedowns, signIn] = [m.get(M.takedowns), m.get(M.signIn)]
    const make = async () => {
      const { makeGateway, featureAnswers } = await loaders.gateway()
      const { gateway: options } = setup.config
      const { datastore } = parts.storage
      const means = { options, datastore, network: parts.network.node, loadIdentity: loaders.peerIdentity }
      const { takedowns: list, revisions, wake: wakeWalks } = await takedowns.load()
      const answers = await featureAnswers(means)
      const later = { answers, takedowns: list, revisions, wakeWalks, signIn: () => signIn.load() }
      return makeGateway(setup, { ...parts, ...later })
    }
    return new LaterModule(make, () => mayRefuseGateway(setup))
  })
  modules.provide(M.sharedReading, m => {
    const [gateway, parts] = [m.get(M.gateway), below(m)]
    return new LaterModule(async () => {
      const { makeSharedReading } = await loaders.sharedReading()
      return makeSharedReading(setup, { ...parts, gateway: await gateway.load() })
    })
  })
  modules.provide(M.http, m => {
    const rest = { pins: m.get(M.pins), undo: m.get(M.undo), upkeep: m.get(M.upkeep) }
    const parts = { ...below(m), ...rest }
    const [gateway, signIn, features] = [m.get(M.gateway), m.get(M.signIn), m.get(M.features)]
    const [upkeepWork, backup] = [m.get(M.upkeepWork), m.get(M.backup)]
    return new LaterModule(async () => {
      const { makeHttp } = await loaders.http()
      await Promise.all([parts.pins.loadAll(), loaders.httpClient()])
      return makeHttp(setup, {
        ...parts,
        signIn: await signIn.load(),
        gateway: await gateway.load(),
        features: await features.load(),
        upkeepWork: await upkeepWork.load(),
        backups: (await backup.load()).backups,
      })
    })
  })
}

/** Provides the modules that work by a schedule, for other systems, or by a call. */
function provideWork(modules: Modules, setup: Setup): void {
  modules.provide(M.upkeepWork, m => {
    const parts = { ...below(m), pins: m.get(M.pins) }
    const make = async () => (await loaders.upkeep()).makeUpkeepWork(setup, parts)
    return new LaterModule(make, () => parts.storage.remotes.size > 0)
  })
  modules.provide(M.backup, m => {
    const parts = { storage: m.get(M.storage), pins: m.get(M.pins) }
    const make = async () => (await loaders.backup()).makeBackup(setup, parts)
    return new LaterModule(make, () => setup.config.backupRoots.length > 0)
  })
  modules.provide(M.nodeWork, m => {
    const parts = { ...below(m), pins: m.get(M.pins), wakeFeatures: m.get(M.features).wake }
    const takedowns = m.get(M.takedowns)
    const make = async () => {
      const { makeNodeWork } = await loaders.nodeWork()
      return makeNodeWork(setup, {
        ...parts,
        revisions: (await takedowns.load()).fleet,
        loadCopyRunner: loaders.copyRunner,
      })
    }
    return new LaterModule<Lifecycle>(make, () => parts.storage.shared !== null)
  })
}

/** Returns whether an account may have a plan by a group of a sign-in provider, which ends without confirmations. */
function mayHaveIdentities({ providerSignIn, shared, database }: StorageModule): boolean {
  return providerSignIn !== null || shared !== null || hasRows(database, 'identities')
}

/** Returns whether content may be taken down, or a lifted takedown may still bar content. */
function mayHaveTakedowns({ dataDir }: Setup, { shared, database }: StorageModule): boolean {
  if (shared !== null || existsSync(join(dataDir, TAKEDOWNS))) return true
  return hasRows(database, 'withheld') || hasRows(database, 'reach_walks')
}

function hasRows(database: Database, table: 'identities' | 'withheld' | 'reach_walks'): boolean {
  return database.prepare(`SELECT 1 FROM ${table} LIMIT 1`).get() !== undefined
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
