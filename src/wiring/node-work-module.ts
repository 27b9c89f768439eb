import type { StatusChange } from '../catalogue/fetches.ts'
import type { NodeWork } from '../catalogue/shared-catalogue.ts'
import { cidOf } from '../ipld/cid.ts'
import { DEFAULT_BACKEND_ID } from '../ledger/blocks.ts'
import { LostNodes } from '../upkeep/lost-nodes.ts'
import { Offering } from '../upkeep/offering.ts'
import { Retirement } from '../upkeep/retirement.ts'
import type { ClustersModule } from './clusters-module.ts'
import type { NetworkModule } from './network-module.ts'
import type { NodesModule } from './nodes-module.ts'
import type { PinsModule } from './pins-module.ts'
import type { Setup } from './setup.ts'
import type { StorageModule } from './storage-module.ts'

interface Below {
  storage: StorageModule
  clusters: ClustersModule
  nodes: NodesModule
  network: NetworkModule
  pins: Pick<PinsModule, 'scheduler' | 'wakePlacements' | 'publishChanges' | 'backendOf'>
}

export function makeNodeWork(setup: Setup, below: Below) {
  const { shared, work } = below.storage
  const { member } = below.nodes
  const offering = offeringOf(setup, below)
  const retirement = retirementOf(setup, below)
  const lostNodes = lostNodesOf(setup, below)
  return {
    start: async (): Promise<void> => {
      if (shared === null || work === null) return
      const followWork = following(setup, work, below.pins)
      const follow = (): void => {
        followWork()
        offering?.wake()
        retirement?.wake()
        lostNodes?.wake()
      }
      shared.changes.notices(name => {
        if (name === null || name === shared.node.name) follow()
      })
      if (member === null) follow()
      else await member.start(follow)
    },
    stop: async (): Promise<void> => {
      await offering?.stop()
      await retirement?.stop()
      await lostNodes?.stop()
      await member?.stop()
    },
  }
}

function offeringOf(
  { clock, logger }: Setup,
  { storage: { offers, shared }, clusters: { registry, embeddedOf }, nodes: { member }, pins }: Below,
): Offering | null {
  if (offers === null || shared === null) return null
  return new Offering({
    offers,
    past: shared.past,
    homes: () => registry.homes,
    backendOf: embeddedOf,
    readerOf: id => member?.readerOf(id) ?? null,
    onChanges: changes => publish(pins, changes),
    clock,
    logger,
  })
}

function retirementOf(
  { clock, logger }: Setup,
  { storage: { retirements }, clusters: { registry, embeddedOf }, nodes: { member }, pins }: Below,
): Retirement | null {
  if (retirements === null || member === null) return null
  return new Retirement({
    retirements,
    homeOf: cluster => (cluster === null ? undefined : registry.homes.get(cluster)) ?? DEFAULT_BACKEND_ID,
    backendOf: embeddedOf,
    readerOf: id => member.readerOf(id),
    onChanges: changes => publish(pins, changes),
    clock,
    logger,
  })
}

function lostNodesOf(
  { clock, logger }: Setup,
  { storage: { work }, clusters: { registry }, nodes: { member }, network, pins }: Below,
): LostNodes | null {
  if (work === null || member === null) return null
  return new LostNodes({
    lost: work.lost,
    homeOf: pins.backendOf,
    hasCluster: id => registry.has(id),
    // Another system fetches the content, or has it already.
    canFetch: async record =>
      network.node?.canAsk([]) === true ||
      registry.isExternal(record.clusterId) ||
      (await member.find(cidOf(record))) !== null,
    onChanges: changes => publish(pins, changes),
    clock,
    logger,
  })
}

async function publish(pins: Below['pins'], changes: readonly StatusChange[]): Promise<void> {
  pins.publishChanges(changes)
  const fetches = new Set(changes.flatMap(({ record }) => record.fetchId ?? []))
  for (const id of fetches) await pins.scheduler.subscribersChanged(id)
  if (fetches.size > 0) pins.scheduler.wake()
}

/** Returns a function that processes the work from other nodes. A call during a run schedules one more run. */
function following(
  { logger }: Setup,
  work: NodeWork,
  { scheduler, wakePlacements }: Pick<PinsModule, 'scheduler' | 'wakePlacements'>,
): () => void {
  let isUnderWay = false
  let isWanted = false
  const once = async (): Promise<void> => {
    wakePlacements()
    await work.dropReleased()
    for (const fetch of await work.leftFetches()) {
      await scheduler.subscribersChanged(fetch.id)
      await work.markChecked(fetch)
    }
  }
  return () => {
    isWanted = true
    if (isUnderWay) return
    isUnderWay = true
    const all = async (): Promise<void> => {
      while (isWanted) {
        isWanted = false
        await once()
      }
    }
    all()
      .catch((err: unknown) =>
        logger.warn({ err }, 'work that other nodes left for this node failed, and is retried later'),
      )
      .finally(() => {
        isUnderWay = false
      })
  }
}
