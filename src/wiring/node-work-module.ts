import type { NodeWork } from '../catalogue/shared-catalogue.ts'
import type { NodesModule } from './nodes-module.ts'
import type { PinsModule } from './pins-module.ts'
import type { Setup } from './setup.ts'
import type { StorageModule } from './storage-module.ts'

export function makeNodeWork(
  setup: Setup,
  { shared, work }: StorageModule,
  { member }: NodesModule,
  pins: Pick<PinsModule, 'scheduler' | 'wakePlacements'>,
) {
  return {
    start: async (): Promise<void> => {
      if (member === null || shared === null || work === null) return
      const follow = following(setup, work, pins)
      shared.changes.notices(name => {
        if (name === null || name === shared.node.name) follow()
      })
      await member.start(follow)
    },
    stop: async (): Promise<void> => member?.stop(),
  }
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
