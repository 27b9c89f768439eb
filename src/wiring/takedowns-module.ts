import { join } from 'node:path'
import { unsettled } from '../concurrency/woken-work.ts'
import { ReachWalker } from '../content/reach-walk.ts'
import { RevisionLog } from '../content/revision-log.ts'
import { Withholding } from '../content/withholding.ts'
import { TAKEDOWNS } from '../disk/file-names.ts'
import { nodeFileSystem } from '../disk/node-file-system.ts'
import type { Clock } from '../domain/clock.ts'
import { PeerBlocks } from '../gateway/policy/peer-blocks.ts'
import { Takedowns } from '../gateway/policy/takedowns.ts'
import { ReachWalks } from '../ledger/reach-walks.ts'
import { WithheldLedger } from '../ledger/withheld.ts'
import type { ClustersModule } from './clusters-module.ts'
import type { Setup } from './setup.ts'
import type { StorageModule } from './storage-module.ts'

const RETRY_MS = 400

export type TakedownsModule = ReturnType<typeof makeTakedowns>

/** Creates the module. Nothing may serve content before it has started. */
export function makeTakedowns(
  { dataDir, config, clock, logger, fileSystem = nodeFileSystem }: Setup,
  { database, blocks, writes, shared }: StorageModule,
  { live, registry }: ClustersModule,
) {
  const walks = new ReachWalks(database, writes)
  const walker = new ReachWalker(walks, id => registry.readerOf(id))
  const table = new WithheldLedger(database, blocks, writes)
  const withholding = new Withholding({ table, walks, walker, clock, logger })
  const revisions = new RevisionLog(clock, config.node?.id ?? null)
  const means = { fileSystem, clock, logger, shared: shared?.takedowns ?? null, withholding, revisions }
  const takedowns = Takedowns.open(join(dataDir, TAKEDOWNS), means)
  const followed = following(() => takedowns.follow(), clock)
  return {
    takedowns,
    revisions,
    /** Blocks that this node serves to peers. */
    peerBlocks: new PeerBlocks(live, takedowns.list),
    start: async (): Promise<void> => {
      shared?.changes.takedowns(followed.soon)
      await takedowns.start()
      await takedowns.follow()
      withholding.start()
    },
    unsettled: () => unsettled([takedowns, withholding]),
    stop: async (): Promise<void> => {
      followed.end()
      await withholding.stop()
    },
  }
}

/** Returns `soon`, which calls `follow` until it succeeds, and `end`, which stops the repetition. */
function following(follow: () => Promise<void>, clock: Clock): { soon: () => void; end: () => void } {
  let cancel: () => void = () => undefined
  let isEnded = false
  const soon = (): void => {
    cancel()
    follow().catch(() => {
      if (!isEnded) cancel = clock.after(RETRY_MS, soon)
    })
  }
  const end = (): void => {
    isEnded = true
    cancel()
  }
  return { soon, end }
}
