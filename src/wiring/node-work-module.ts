import type { NodeWork } from '../catalogue/shared-catalogue.ts'
import type { NodesModule } from './nodes-module.ts'
import type { PinsModule } from './pins-module.ts'
import type { Setup } from './setup.ts'
import type { StorageModule } from './storage-module.ts'

/** What this node does among others, once it has all that it needs for it. */
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

/** Returns what does the work that other nodes leave. A call during a run schedules one more; the next retries a failed one. */
function following(
  { logger }: Setup,
  work: NodeWork,
  { scheduler, wakePlacements }: Pick<PinsModule, 'scheduler' | 'wakePlacements'>,
): () => void {
  let isUnderWay = false
  let isWanted = false
  const once = async (): Promise<void> => {
    wakePlacements()
    await work.letGo()
    for (const fetch of await work.leftFetches()) {
      await scheduler.subscribersChanged(fetch.id)
      await work.lookedAt(fetch)
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
      .catch((err: unknown) => logger.warn({ err }, 'what other nodes have left to be done is done later'))
      .finally(() => {
        isUnderWay = false
      })
  }
}
