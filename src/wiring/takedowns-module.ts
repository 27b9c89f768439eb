import { join } from 'node:path'
import { unsettled } from '../concurrency/woken-work.ts'
import { FleetRevisions } from '../content/fleet-revisions.ts'
import { ReachWalker } from '../content/reach-walk.ts'
import { RevisionLog } from '../content/revision-log.ts'
import { Withholding } from '../content/withholding.ts'
import { TAKEDOWNS } from '../disk/file-names.ts'
import { nodeFileSystem } from '../disk/node-file-system.ts'
import { PeerBlocks } from '../gateway/policy/peer-blocks.ts'
import { Takedowns } from '../gateway/policy/takedowns.ts'
import { ReachWalks } from '../ledger/reach-walks.ts'
import { WithheldLedger } from '../ledger/withheld.ts'
import type { ClustersModule } from './clusters-module.ts'
import type { Setup } from './setup.ts'
import type { StorageModule } from './storage-module.ts'

export type TakedownsModule = ReturnType<typeof makeTakedowns>

/** Creates the module. Nothing may serve content before it has started. */
export function makeTakedowns(
  { dataDir, config, clock, logger, fileSystem = nodeFileSystem }: Setup,
  { storage, clusters: { live, registry } }: { storage: StorageModule; clusters: ClustersModule },
) {
  const { database, blocks, writes, shared, work } = storage
  const walks = new ReachWalks(database, writes)
  const walker = new ReachWalker(walks, id => registry.readerOf(id))
  const table = new WithheldLedger(database, blocks, writes)
  const withholding = new Withholding({ table, walks, walker, clock, logger })
  const node = config.node?.id ?? null
  let hasStarted = false
  const apply = async (): Promise<void> => {
    await takedowns.follow()
    revisions.publish()
    if (work === null) return
    // Until its release, the former hold of a record that is now private shows the content to everyone.
    await work.dropReleased()
    revisions.publish()
    if (hasStarted) withholding.wake()
  }
  const fleet =
    shared === null
      ? null
      : new FleetRevisions({
          rows: shared.revisions,
          clock,
          logger,
          node,
          apply,
          // A power cut would otherwise make the ledger look like a restored one.
          confirming: newest => writes.run(() => shared.past.confirm(newest), { durable: true }),
        })
  const revisions: RevisionLog = fleet ?? new RevisionLog(clock, node)
  const means = { fileSystem, clock, logger, shared: shared?.takedowns ?? null, withholding, revisions }
  const takedowns = Takedowns.open(join(dataDir, TAKEDOWNS), means)
  return {
    takedowns,
    revisions,
    /** Begins walks that close roots, now. */
    wake: () => withholding.wake(),
    /** Null without a shared catalogue. */
    fleet,
    /** Blocks that this node serves to peers. */
    peerBlocks: new PeerBlocks(live, takedowns.list),
    start: async (): Promise<void> => {
      shared?.changes.revisions(newest => fleet?.look(newest))
      await takedowns.start()
      await fleet?.start()
      hasStarted = true
      withholding.start()
    },
    unsettled: () => unsettled([fleet, withholding]),
    stop: async (): Promise<void> => {
      await fleet?.stop()
      await withholding.stop()
    },
  }
}
