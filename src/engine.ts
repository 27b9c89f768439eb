import type { Accounts } from './access/accounts/accounts.ts'
import type { Keys } from './access/keys/keys.ts'
import type { Engine, EngineOptions, NodeDirectory, PinService, TakedownList } from './api.ts'
import type { FleetNodes } from './catalogue/fleet.ts'
import type { Settling } from './concurrency/woken-work.ts'
import { checkingCalls } from './config/given-calls.ts'
import * as given from './config/option-names.ts'
import type { Clock } from './domain/clock.ts'
import { HoldfastError } from './domain/errors.ts'
import type { BulkJobs } from './features/bulk/bulk-jobs.ts' // feature: bulk
import type { Content } from './gateway/reader/content-request.ts'
import { laterContent, makeBorder } from './wiring/border.ts'
import { laterJobs } from './wiring/bulk-calls.ts' // feature: bulk
import { checkedEvents } from './wiring/checked-events.ts'
import { publicClusters } from './wiring/clusters-module.ts'
import type { Modules } from './wiring/container.ts'
import { memoryShares } from './wiring/memory-shares.ts'
import { type EngineModules, startModules } from './wiring/modules.ts'
import { type Setup, setupOf } from './wiring/setup.ts'

/** Methods of the engine itself that take options. */
type UpkeepCalls = Pick<Engine, 'collect' | 'verify' | 'backup' | 'reconcile'>

/**
 * Opens a data directory and starts an engine on it. The caller must stop the engine.
 * @throws HoldfastError `CONFIG_INVALID`, which names the option; `DATA_DIR_IN_USE`, `DATA_DIR_UNUSABLE`,
 * `DATA_DIR_NEWER` for the directory
 * @example const engine = await createEngine({ dataDir: '/data' })
 */
export async function createEngine(options: EngineOptions): Promise<Engine> {
  const setup = setupOf(options)
  return engineOf(setup, await startModules(setup))
}

/** Key of the background work of an engine. The clock is the one that the work waits for. */
export const BACKGROUND = Symbol('background work')

export interface Background extends Settling {
  clock: Clock
  /** Id of a node of a fleet. */
  node: string | undefined
}

function engineOf(setup: Setup, modules: Modules<EngineModules>): Engine {
  const { dataDir, config, events, activity, longRuns, ending, probes, memoryBytes } = setup
  const { storage, access, clusters, pins, undo } = modules.made('storage', 'access', 'clusters', 'pins', 'undo')
  const { upkeepWork, backup, takedowns } = modules.made('upkeepWork', 'backup', 'takedowns')
  const { statistics } = modules.made('upkeep').upkeep
  const { node } = modules.made('network').network
  const { member } = modules.made('nodes').nodes
  const { apart, ...later } = modules.made('apart', 'gateway', 'sharedReading', 'http')
  const { shared, providerSignIn, importRoots } = storage
  const signInProvider = providerSignIn?.label ?? null
  const border = makeBorder(setup, { signInProvider, apart, ...later }, () => stopping !== null)
  const fleetNodes = shared?.fleet?.nodes
  let stopping: Promise<void> | null = null
  const stop = async (): Promise<void> => {
    await Promise.all([activity.stop(), longRuns.stop()])
    await modules.stop()
    events.close()
  }
  /** Wraps calls that return promises. From the call of `stop` on, each is refused. */
  const untilStop = <Calls extends object>(calls: Calls): Calls =>
    new Proxy(calls, {
      get: (target, name) => {
        const method: unknown = Reflect.get(target as object, name)
        // JavaScript itself asks for `then` before it awaits an object, and for `toJSON` before it writes one.
        if (typeof method !== 'function') return method
        return async (...args: unknown[]): Promise<unknown> => {
          if (stopping !== null) throw new HoldfastError('UNAVAILABLE', 'the node is stopping')
          return Reflect.apply(method, target, args)
        }
      },
    })
  const upkeep: UpkeepCalls = {
    collect: async ({ graceSeconds, endUndo } = {}) => {
      if (graceSeconds !== undefined && !(graceSeconds >= 0)) {
        throw new HoldfastError('VALIDATION', 'graceSeconds must be a number of seconds from 0')
      }
      const graceMs = graceSeconds === undefined ? undefined : graceSeconds * 1_000
      return undo.collect({ graceMs, endUndo })
    },
    verify: async options => (await upkeepWork.load()).verifier.verify(options),
    backup: async (directory, options) => (await backup.load()).backups.run(directory, options),
    reconcile: async options => (await upkeepWork.load()).reconciler.run(options),
  }
  const engine: Engine & { [BACKGROUND]: Background } = {
    [BACKGROUND]: { clock: setup.clock, node: config.node?.id, unsettled: () => modules.unsettled() },
    ...checkingCalls(upkeep, given.UPKEEP_CALLS),
    pins: checkingCalls<PinService>(pins.service, given.PIN_CALLS),
    jobs: checkingCalls<BulkJobs>(laterJobs(modules.made('features').features.jobs), given.JOB_CALLS), // feature: bulk
    content: checkingCalls<Content>(laterContent(later.gateway), given.CONTENT_CALLS),
    clusters: checkingCalls(untilStop(publicClusters(clusters, access)), given.CLUSTER_CALLS),
    accounts: checkingCalls<Accounts>(access.accounts, given.ACCOUNT_CALLS),
    keys: checkingCalls<Keys>(access.keys, given.KEY_CALLS),
    events: checkedEvents(events),
    takedowns: checkingCalls(
      untilStop<TakedownList>({
        page: async request => (await takedowns.load()).takedowns.page(request),
        add: async request => (await takedowns.load()).takedowns.add(request),
        remove: async target => (await takedowns.load()).takedowns.remove(target),
      }),
      given.TAKEDOWN_CALLS,
    ),
    nodes: checkingCalls(
      untilStop<NodeDirectory>({
        list: async () => (await fleetNodes?.list()) ?? [],
        retire: async (id, { to }) => fleetOf(fleetNodes).retire(id, to),
        forget: async (id, { isReplaced = false } = {}) => fleetOf(fleetNodes).forget(id, { isReplaced }),
        away: async ids => fleetOf(fleetNodes).confirmAway(ids),
        lost: async request => (await fleetNodes?.lost(request)) ?? { rows: [], next: null },
      }),
      given.NODE_CALLS,
    ),
    ...border,
    dataDir,
    importRoots,
    ...untilStop<Pick<Engine, 'setPublicUrl' | 'setGatewayPort' | 'shareReading' | 'helia' | 'addresses'>>({
      setPublicUrl: async (url, gateway) => clusters.registry.setGatewayUrl(config.gateway.publicUrl ?? gateway ?? url),
      setGatewayPort: async port => {
        apart.port = port
      },
      shareReading: async () => (await later.sharedReading.load()).share(),
      helia: async () => {
        if (node === null) throw new HoldfastError('UNAVAILABLE', 'networking is off: set network.enabled')
        return node.helia
      },
      addresses: async () => node?.addresses() ?? [],
    }),
    stats: () => statistics.read(),
    answerMemory: async () => {
      const { used = 0, limit = memoryShares(memoryBytes).answers } = later.gateway.made?.memory ?? {}
      return { used, limit }
    },
    announceStop: async ({ noticeMs = 0 } = {}) => {
      ending.isAnnounced = true
      // A server otherwise waits for the requests that started them. `stop` waits for their end.
      void longRuns.stop()
      if (stopping !== null) return
      await member?.leave()
      if (noticeMs > 0) await probes.noticed(noticeMs, (await member?.hasOthers()) ?? false)
    },
    readsEnded: async ({ isLast = false, signal = new AbortController().signal } = {}) => {
      if (stopping === null) await member?.readsEnded({ isLast, signal })
    },
    stop: () => {
      stopping ??= stop()
      return stopping
    },
    [Symbol.asyncDispose]: () => engine.stop(),
  }
  return engine
}

function fleetOf(nodes: FleetNodes | undefined): FleetNodes {
  if (nodes === undefined) throw new HoldfastError('NOT_FOUND', 'this node runs alone')
  return nodes
}
