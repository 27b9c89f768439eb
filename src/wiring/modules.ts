import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { TAKEDOWNS } from '../disk/file-names.ts'
import { ApartGateway } from '../gateway/site/documents-apart.ts'
import type { Database } from '../storage/database.ts'
import { makeAccess } from './access-module.ts'
import type { BackupModule } from './backup-module.ts'
import { makeClusters } from './clusters-module.ts'
import { type Lifecycle, Modules } from './container.ts'
import { makeContent } from './content-module.ts'
import { type FeaturesModule, makeFeatures } from './features-module.ts'
import type { GatewayModule } from './gateway-module.ts'
import type { HttpModule } from './http.ts'
import { LaterModule } from './later-module.ts'
import { moduleLoaders as loaders } from './module-loaders.ts'
import { makeNetwork } from './network-module.ts'
import { makeNodes } from './nodes-module.ts'
import { makePins, type PinModules } from './pins-module.ts'
import type { Setup } from './setup.ts'
import type { SharedReadingModule } from './shared-reading-module.ts'
import type { SignInModule } from './sign-in-module.ts'
import { makeStorage, type StorageModule } from './storage-module.ts'
import { openStores } from './stores.ts'
import type { TakedownsModule } from './takedowns-module.ts'
import { makeUndo, type UndoModule } from './undo-module.ts'
import { makeUpkeep, type UpkeepModule } from './upkeep-module.ts'
import type { UpkeepWorkModule } from './upkeep-work-module.ts'

/** Modules of an engine by name. The files of a `LaterModule` are loaded when something first uses it. */
export interface EngineModules extends PinModules {
  signIn: LaterModule<SignInModule>
  takedowns: LaterModule<TakedownsModule>
  undo: UndoModule
  features: FeaturesModule
  upkeepWork: LaterModule<UpkeepWorkModule>
  backup: LaterModule<BackupModule>
  upkeep: UpkeepModule
  apart: ApartGateway
  gateway: LaterModule<GatewayModule>
  sharedReading: LaterModule<SharedReadingModule>
  http: LaterModule<HttpModule>
  nodeWork: LaterModule<Lifecycle>
}

const BASE = ['storage', 'access', 'content', 'clusters', 'network', 'nodes'] as const
const PINS = [...BASE, 'pins'] as const

/**
 * Starts all modules in the order in which this function adds them. They stop in reverse order. On failure, everything is
 * stopped again.
 * @throws HoldfastError the errors of {@link openStores}
 */
export async function startModules(setup: Setup): Promise<Modules<EngineModules>> {
  const stores = await openStores(setup)
  const modules = new Modules<EngineModules>()
  modules.add('storage', [], () => makeStorage(setup, stores))
  modules.add('access', ['storage'], made => makeAccess(setup, made.storage))
  modules.add('signIn', ['storage', 'access'], made => {
    const load = async () => (await loaders.signIn()).makeSignIn(setup, made)
    return new LaterModule(load, () => mayHaveIdentities(made.storage))
  })
  modules.add('content', ['storage'], made => makeContent(setup, made.storage))
  modules.add('clusters', ['storage', 'content'], made => makeClusters(setup, made))
  modules.add('takedowns', ['storage', 'clusters'], made => {
    const load = async () => (await loaders.takedowns()).makeTakedowns(setup, made)
    return new LaterModule(load, () => mayHaveTakedowns(setup, made.storage))
  })
  modules.add('network', ['storage', 'clusters', 'takedowns'], made => makeNetwork(setup, made))
  modules.add('nodes', ['storage', 'clusters'], made => makeNodes(setup, made))
  modules.add('pins', BASE, made => makePins(setup, made))
  modules.add('undo', ['storage', 'access', 'content', 'pins'], made => makeUndo(setup, made))
  modules.add('features', ['storage', 'access', 'clusters', 'pins', 'undo'], made => makeFeatures(setup, made))
  modules.add('upkeepWork', PINS, made => {
    const load = async () => (await loaders.upkeep()).makeUpkeepWork(setup, made)
    return new LaterModule(load, () => made.storage.remotes.size > 0)
  })
  modules.add('backup', ['storage', 'pins'], made => {
    const load = async () => (await loaders.backup()).makeBackup(setup, made)
    return new LaterModule(load, () => setup.config.backupRoots.length > 0)
  })
  modules.add('upkeep', [...PINS, 'upkeepWork', 'backup'], made => makeUpkeep(setup, made))
  modules.add('apart', [], () => new ApartGateway(setup.config.gateway))
  modules.add('gateway', [...PINS, 'takedowns', 'signIn', 'apart'], made => {
    const load = async () => (await loaders.gateway()).makeGateway(setup, made)
    return new LaterModule(load, () => mayRefuseGateway(setup))
  })
  modules.add('sharedReading', [...BASE, 'gateway'], made => {
    return new LaterModule(async () => (await loaders.sharedReading()).makeSharedReading(setup, made))
  })
  modules.add(
    'http',
    [...PINS, 'undo', 'upkeep', 'gateway', 'signIn', 'features', 'upkeepWork', 'backup'],
    made => new LaterModule(async () => (await loaders.http()).makeHttp(setup, made)),
  )
  modules.add('nodeWork', [...PINS, 'features', 'takedowns'], made => {
    const load = async () => (await loaders.nodeWork()).makeNodeWork(setup, made)
    return new LaterModule(load, () => made.storage.shared !== null)
  })
  try {
    await modules.start()
    return modules
  } catch (error) {
    await modules.stop()
    await stores.close()
    throw error
  }
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
