import { resolve } from 'node:path'
import type { Engine, EngineOptions } from './api.ts'
import { Activity } from './domain/activity.ts'
import { systemClock } from './domain/clock.ts'
import { knownClusters } from './domain/cluster.ts'
import { parseConfig } from './domain/config.ts'
import { Emitter } from './domain/emitter.ts'
import { HoldfastError } from './domain/errors.ts'
import { silentLogger } from './domain/logger.ts'
import { silentMetrics } from './domain/metrics.ts'
import type { EngineConfig } from './domain/options.ts'
import { errorResponse } from './http/error-response.ts'
import type { ApiHandler } from './http/types.ts'
import type { NetworkNode } from './network/network-node.ts'
import type { EngineEvents } from './pins/types.ts'
import { Parts } from './wiring/container.ts'
import { startNetwork, useNetwork } from './wiring/network.ts'
import { provideAccess } from './wiring/provide-access.ts'
import { provideBackups } from './wiring/provide-backups.ts'
import { provideContent, provideWrites } from './wiring/provide-content.ts'
import { provideFetches } from './wiring/provide-fetches.ts'
import { provideGateway } from './wiring/provide-gateway.ts'
import { provideHttp } from './wiring/provide-http.ts'
import { providePins } from './wiring/provide-pins.ts'
import { provideRemotes, startRemotes } from './wiring/provide-remotes.ts'
import { provideUpkeep } from './wiring/provide-upkeep.ts'
import { publicClusters } from './wiring/public-clusters.ts'
import { openStores, type Stores } from './wiring/stores.ts'
import { T } from './wiring/tokens.ts'
import { warnOfConfiguration } from './wiring/warnings.ts'

/** What the gateways of clusters are built on until the node knows where it is reached. */
const LOCAL_URL = 'http://127.0.0.1:4100'

/**
 * Opens a data directory and starts an engine on it. The caller stops it.
 *
 * @throws HoldfastError `CONFIG_INVALID` naming the option; `DATA_DIR_IN_USE`, `DATA_DIR_UNUSABLE`,
 * `DATA_DIR_NEWER` for the directory.
 */
export async function createEngine(options: EngineOptions): Promise<Engine> {
  const {
    dataDir,
    logger = silentLogger,
    metrics = silentMetrics,
    clock = systemClock,
    fileSystem,
    threadPoolSize,
    environment = {},
    backends = {},
    ...given
  } = options ?? {}
  if (typeof dataDir !== 'string' || dataDir === '') {
    throw new HoldfastError('CONFIG_INVALID', 'options: dataDir must be the path of a directory')
  }
  const config: EngineConfig = parseConfig(given, 'options')
  const clusters = config.clusters ?? knownClusters
  const stores = await openStores({
    dataDir,
    clusters,
    importRoots: config.importRoots,
    logger,
    clock,
    environment,
    backends,
    fileSystem,
  })
  let node: NetworkNode | null = null
  try {
    const parts = new Parts()
    parts.add(T.clock, clock)
    parts.add(T.logger, logger)
    parts.add(T.metrics, metrics)
    parts.add(T.activity, new Activity())
    parts.add(T.events, new Emitter<EngineEvents>(logger))
    parts.add(T.sealing, stores.sealing)
    parts.add(T.database, stores.database)
    provideWrites(parts, stores.checkpoints)
    const { importRoots, ownBackends } = stores
    provideAccess(parts, config, stores.secrets)
    provideContent(parts, options, stores)
    provideBackups(parts, stores, resolve(dataDir), config.backupRoots ?? [])
    providePins(parts, {
      ...{ config, clusters, importRoots, publicUrl: config.publicUrl ?? LOCAL_URL, ownBackends },
      elsewhere: new Set(stores.remotes.keys()),
    })
    provideFetches(parts, config)
    provideUpkeep(parts, config)
    provideRemotes(parts, stores)
    provideHttp(parts, config)
    warnOfConfiguration(config, { plans: parts.get(T.plans), importRoots, logger })
    provideGateway(parts, config, { dataDir: resolve(dataDir), ...(fileSystem && { fileSystem }) })
    await parts.get(T.secondFactor).sealStored()
    await parts.get(T.content).records.finishRemovals()
    await parts.get(T.collector).start()
    node = await startNetwork(parts, config, stores.datastore)
    const peers = node
    parts.add(T.network, { fetcher: node, peerCount: () => peers?.peerCount() ?? 0 })
    parts.get(T.sweeper).start()
    await parts.get(T.verification)?.start()
    parts.get(T.accountRemoval).wake()
    startRemotes(parts)
    const endUse = node === null ? () => undefined : await useNetwork(parts, node)
    for (const reserve of parts.get(T.reserves).values()) reserve.start()
    return startedEngine(parts, stores, resolve(dataDir), { node, endUse })
  } catch (error) {
    await node?.stop()
    await stores.close()
    throw error
  }
}

interface NetworkUse {
  node: NetworkNode | null
  endUse: () => void
}

function startedEngine(parts: Parts, stores: Stores, dataDir: string, { node, endUse }: NetworkUse): Engine {
  const clusters = parts.get(T.clusters)
  const collector = parts.get(T.collector)
  const statistics = parts.get(T.statistics)
  const border = parts.get(T.border)
  const takedowns = parts.get(T.takedowns)
  let stopping: Promise<void> | null = null
  const stop = async (): Promise<void> => {
    await parts.get(T.activity).stop()
    await parts.get(T.verification)?.stop()
    await parts.get(T.fetchScheduler).stop()
    await parts.get(T.placementRunner).stop()
    endUse()
    await node?.stop()
    await parts.get(T.accountRemoval).stop()
    await parts.get(T.sweeper).stop()
    await collector.stop()
    for (const reserve of parts.get(T.reserves).values()) await reserve.stop()
    await parts.get(T.writes).settled()
    await stores.close()
  }
  const whileRunning = (handler: ApiHandler): ApiHandler => {
    const stopped = new HoldfastError('UNAVAILABLE', 'the node is stopping')
    return async request => (stopping === null ? handler(request) : errorResponse(stopped, ''))
  }
  const engine: Engine = {
    pins: parts.get(T.pins),
    content: parts.get(T.contentReader),
    clusters: publicClusters(parts),
    accounts: parts.get(T.accounts),
    keys: parts.get(T.keys),
    events: parts.get(T.events),
    takedowns: {
      page: async request => takedowns.page(request),
      add: request => takedowns.add(request),
      remove: target => takedowns.remove(target),
    },
    ...border,
    api: whileRunning(border.api),
    gateway: whileRunning(border.gateway),
    dataDir,
    importRoots: stores.importRoots,
    setPublicUrl: async url => clusters.setPublicUrl(url),
    collect: async ({ graceSeconds } = {}) => {
      return collector.collect(graceSeconds === undefined ? undefined : graceSeconds * 1_000)
    },
    helia: async () => {
      if (node === null) throw new HoldfastError('UNAVAILABLE', 'networking is off: set network.enabled')
      return node.helia
    },
    addresses: async () => node?.addresses() ?? [],
    stats: () => statistics.read(),
    verify: verifyOptions => parts.get(T.verifier).verify(verifyOptions),
    backup: (directory, backupOptions) => parts.get(T.backups).run(directory, backupOptions),
    reconcile: reconcileOptions => parts.get(T.reconciler).run(reconcileOptions),
    stop: () => {
      stopping ??= stop()
      return stopping
    },
    [Symbol.asyncDispose]: () => engine.stop(),
  }
  return engine
}
