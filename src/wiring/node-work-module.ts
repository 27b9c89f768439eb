import type { StatusChange } from '../catalogue/fetches.ts'
import { type Settling, unsettled, WokenWork, warned } from '../concurrency/woken-work.ts'
import type { FleetRevisions } from '../content/fleet-revisions.ts'
import { cidOf } from '../ipld/cid.ts'
import { DEFAULT_BACKEND_ID } from '../ledger/blocks.ts'
import { Possessor, PUBLIC } from '../ledger/possessor.ts'
import type { CopyRunner } from '../upkeep/copy-runner.ts'
import { LostNodes } from '../upkeep/lost-nodes.ts'
import { Offering } from '../upkeep/offering.ts'
import type { Lifecycle } from './container.ts'
import type { FeaturesModule } from './features-module.ts'
import type { LaterModule } from './later-module.ts'
import { loaders } from './loaders.ts'
import type { PinModules } from './pins-module.ts'
import type { Setup } from './setup.ts'
import type { TakedownsModule } from './takedowns-module.ts'

interface Below extends PinModules {
  features: FeaturesModule
  revisions: FleetRevisions | null
}

export async function makeNodeWork(
  setup: Setup,
  { takedowns, ...made }: Omit<Below, 'revisions'> & { takedowns: LaterModule<TakedownsModule> },
): Promise<Lifecycle> {
  const below = { ...made, revisions: (await takedowns.load()).fleet }
  const { shared } = below.storage
  const { member } = below.nodes
  const own = [followedWork, offeringOf, lostNodesOf].flatMap(make => make(setup, below) ?? [])
  const copying = copyingOf(setup, below)
  const works: Work[] = copying === null ? own : [...own, copying]
  return {
    start: async (): Promise<void> => {
      if (shared === null) return
      const follow = (): void => {
        for (const one of works) one.wake()
      }
      shared.changes.notices(name => {
        if (name !== null && name !== shared.node.name) return
        follow()
        below.features.wake()
      })
      if (member === null) follow()
      else await member.start(follow, copying?.look)
      // Other nodes wait for this node only from its first heartbeat on.
      await below.revisions?.catchUp()
      if (shared.fleet?.nodes.hasReported() ?? true) shared.past.follow()
    },
    unsettled: () => unsettled([shared?.changes, ...works]),
    stop: async (): Promise<void> => {
      await Promise.all(works.map(one => one.stop()))
      await member?.stop()
    },
  }
}

function offeringOf(
  { clock, logger }: Setup,
  { storage: { offers, shared }, clusters: { registry, embeddedOf }, nodes: { member }, pins, revisions }: Below,
): WokenWork | null {
  if (offers === null || shared === null) return null
  const offering = new Offering({
    offers,
    past: shared.past,
    homes: () => registry.homes,
    homeOf: id => homeOf(registry, id),
    backendOf: embeddedOf,
    readerOf: id => member?.readerOf(id) ?? null,
    onChanges: changes => publish(pins, changes),
    offered: () => pins.deletion.offered(),
    closed: () => revisions?.publish(),
    clock,
    logger,
  })
  return new WokenWork(signal => offering.run(signal), {
    name: 'offers',
    isDue: async () => (await offers.pending()) !== null,
    failed: warned(logger, 'content could not be offered or taken yet; it is retried'),
  })
}

function lostNodesOf(
  { clock, logger }: Setup,
  { storage: { work }, clusters: { registry }, nodes: { member }, network, pins }: Below,
): WokenWork | null {
  if (work === null || member === null) return null
  const lostNodes = new LostNodes({
    lost: work.lost,
    homeOf: pins.backendOf,
    hasCluster: id => registry.has(id),
    // Another system fetches the content, or has it already.
    canFetch: async record =>
      network.node?.canAsk([]) === true ||
      registry.isExternal(record.clusterId) ||
      (await member.find(cidOf(record), new Possessor(PUBLIC, clock))) !== null,
    onChanges: changes => publish(pins, changes),
    clock,
    logger,
  })
  return new WokenWork(signal => lostNodes.run(signal), {
    name: 'lost nodes',
    isDue: async () => (await work.lost.nodes()).length > 0,
    failed: warned(logger, 'records of a lost node were not taken over yet'),
  })
}

interface Work extends Settling {
  wake(): void
  stop(): Promise<void>
}

/** Loads the work on copies when a cluster wants some, or a node retires. */
function copyingOf(
  { clock, logger, config }: Setup,
  { storage, clusters: { registry, embeddedOf }, nodes: { member } }: Below,
): (Work & { look: () => void }) | null {
  if (member === null) return null
  let runner: CopyRunner | null = null
  const reserve = storage.reserves.get(DEFAULT_BACKEND_ID)
  const readerOf = (nodes: readonly string[]) => member.readerOf(...nodes)
  const homeOf = (cluster: string | null) =>
    embeddedOf((cluster === null ? undefined : registry.homes.get(cluster)) ?? DEFAULT_BACKEND_ID)
  const begin = async (): Promise<void> => {
    const copies = runner === null ? await storage.copies() : null
    if (copies === null) return runner?.wake()
    const { CopyRunner: Runner } = await loaders.copyRunner()
    runner = new Runner({
      copies,
      homeOf,
      readerOf,
      holdsOn: member.holdsOn,
      clock,
      logger,
      disk: () => reserve?.state ?? null,
      lookAtDisk: async () => reserve?.look(),
      repairAfterMs: id => registry.repairAfterMs(id),
      unbrokenMs: () => storage.shared?.fleet?.nodes.unbrokenMs() ?? 0,
      rates: { bytesPerSecond: config.repairBytesPerSecond, contentsPerSecond: config.repairContentsPerSecond },
    })
    runner.wake()
  }
  const beginning = new WokenWork(begin, {
    name: 'copies',
    failed: warned(logger, 'the work on copies could not begin yet; it is retried'),
  })
  return {
    wake: () => beginning.wake(),
    look: () => runner?.look(),
    unsettled: () => unsettled([beginning, runner]),
    stop: async () => {
      await beginning.stop()
      await runner?.stop()
    },
  }
}

/** Returns the backend for the content of a cluster, which no node may keep; null for an absent directory. */
function homeOf(registry: Below['clusters']['registry'], clusterId: string): number | null {
  return registry.homes.get(clusterId) ?? (registry.absent.includes(clusterId) ? null : DEFAULT_BACKEND_ID)
}

async function publish(pins: Below['pins'], changes: readonly StatusChange[]): Promise<void> {
  pins.publishChanges(changes)
  const fetches = new Set(changes.flatMap(({ record }) => record.fetchId ?? []))
  for (const id of fetches) await pins.scheduler.subscribersChanged(id)
  if (fetches.size > 0) pins.scheduler.wake()
}

/** Returns the work that other nodes leave to this node. */
function followedWork(
  { logger }: Setup,
  { storage: { work }, pins: { scheduler, wakePlacements } }: Below,
): WokenWork | null {
  if (work === null) return null
  const run = async (): Promise<void> => {
    wakePlacements()
    await work.dropReleased()
    for (const fetch of await work.leftFetches()) {
      await scheduler.subscribersChanged(fetch.id)
      await work.markChecked(fetch)
    }
  }
  return new WokenWork(run, {
    name: 'work of other nodes',
    isDue: () => work.hasMore(),
    failed: warned(logger, 'work that other nodes left for this node failed, and is retried later'),
  })
}
