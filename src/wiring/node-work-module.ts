import type { NodeWork } from '../catalogue/shared-catalogue.ts'
import { Offering } from '../upkeep/offering.ts'
import type { ClustersModule } from './clusters-module.ts'
import type { NodesModule } from './nodes-module.ts'
import type { PinsModule } from './pins-module.ts'
import type { Setup } from './setup.ts'
import type { StorageModule } from './storage-module.ts'

interface Below {
  storage: StorageModule
  clusters: ClustersModule
  nodes: NodesModule
  pins: Pick<PinsModule, 'scheduler' | 'wakePlacements' | 'publishChanges'>
}

export function makeNodeWork(setup: Setup, below: Below) {
  const { shared, work } = below.storage
  const { member } = below.nodes
  const offering = offeringOf(setup, below)
  return {
    start: async (): Promise<void> => {
      if (shared === null || work === null) return
      const followWork = following(setup, work, below.pins)
      const follow = (): void => {
        followWork()
        offering?.wake()
      }
      shared.changes.notices(name => {
        if (name === null || name === shared.node.name) follow()
      })
      if (member === null) follow()
      else await member.start(follow)
    },
    stop: async (): Promise<void> => {
      await offering?.stop()
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
    onChanges: async changes => {
      pins.publishChanges(changes)
      for (const { record } of changes)
        if (record.fetchId !== null) await pins.scheduler.subscribersChanged(record.fetchId)
    },
    clock,
    logger,
  })
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
