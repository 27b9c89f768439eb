import type { Engine, EngineOptions } from './api.ts'
import { checkingTexts } from './config/given-texts.ts'
import { HoldfastError } from './domain/errors.ts'
import type { ApiHandler } from './http/api-messages.ts'
import { errorResponse } from './http/error-response.ts'
import { publicClusters } from './wiring/clusters-module.ts'
import type { Modules } from './wiring/container.ts'
import { M, startModules } from './wiring/modules.ts'
import { type Setup, setupOf } from './wiring/setup.ts'

/**
 * Opens a data directory and starts an engine on it. The caller must stop the engine.
 * @throws HoldfastError `CONFIG_INVALID`, which names the option; `DATA_DIR_IN_USE`, `DATA_DIR_UNUSABLE`,
 * `DATA_DIR_NEWER` for the directory
 */
export async function createEngine(options: EngineOptions): Promise<Engine> {
  const setup = setupOf(options)
  return engineOf(setup, await startModules(setup))
}

function engineOf({ dataDir, config, events, activity, longRuns, ending }: Setup, modules: Modules): Engine {
  const access = modules.get(M.access)
  const clusters = modules.get(M.clusters)
  const border = modules.get(M.http)
  const { takedowns, reader, memory } = modules.get(M.gateway)
  const { collector, verifier } = modules.get(M.content)
  const { statistics, backups, reconciler } = modules.get(M.upkeep)
  const { node } = modules.get(M.network)
  let stopping: Promise<void> | null = null
  const stop = async (): Promise<void> => {
    await Promise.all([activity.stop(), longRuns.stop()])
    await modules.stop()
    events.close()
  }
  const stopped = (): HoldfastError => new HoldfastError('UNAVAILABLE', 'the node is stopping')
  const whileRunning = (handler: ApiHandler): ApiHandler => {
    return async request => (stopping === null ? handler(request) : errorResponse(stopped(), ''))
  }
  const running = (): void => {
    if (stopping !== null) throw stopped()
  }
  const engine: Engine = {
    pins: checkingTexts(modules.get(M.pins).service),
    content: reader,
    clusters: checkingTexts(publicClusters(clusters, access)),
    accounts: checkingTexts(access.accounts),
    keys: checkingTexts(access.keys),
    events,
    takedowns: checkingTexts({
      page: async request => {
        running()
        return takedowns.page(request)
      },
      add: async request => {
        running()
        return takedowns.add(request)
      },
      remove: async target => {
        running()
        return takedowns.remove(target)
      },
    }),
    ...border,
    api: whileRunning(border.api),
    gateway: whileRunning(border.gateway),
    ownGateway: whileRunning(border.ownGateway),
    dataDir,
    importRoots: modules.get(M.storage).importRoots,
    setPublicUrl: async (url, gateway) => {
      running()
      clusters.registry.setGatewayUrl(config.gateway.publicUrl ?? gateway ?? url)
    },
    shareReading: async () => {
      running()
      return modules.get(M.sharedReading).share()
    },
    collect: async ({ graceSeconds } = {}) => {
      return collector.collect(graceSeconds === undefined ? undefined : graceSeconds * 1_000)
    },
    helia: async () => {
      running()
      if (node === null) throw new HoldfastError('UNAVAILABLE', 'networking is off: set network.enabled')
      return node.helia
    },
    addresses: async () => {
      running()
      return node?.addresses() ?? []
    },
    stats: () => statistics.read(),
    answerMemory: async () => ({ used: memory.used, limit: memory.limit }),
    verify: options => verifier.verify(options),
    backup: (directory, options) => backups.run(directory, options),
    reconcile: options => reconciler.run(options),
    announceStop: async () => {
      ending.isAnnounced = true
      // A server otherwise waits for the requests that started them. `stop` waits for their end.
      void longRuns.stop()
      if (stopping === null) await modules.get(M.nodes).member?.leave()
    },
    stop: () => {
      stopping ??= stop()
      return stopping
    },
    [Symbol.asyncDispose]: () => engine.stop(),
  }
  return engine
}
