import { BulkSteps, bulkJobs } from '../features/bulk/bulk-jobs.ts'
import { BulkService } from '../features/bulk/bulk-service.ts'
import { BulkEdits } from '../features/bulk/edit-checks.ts'
import { bulkRunner } from '../pins/removal/bulk-runner.ts'
import { DiskRoom } from '../pins/removal/disk-room.ts'
import { endedEarly } from '../pins/removal/ended-early.ts'
import { KeptBounds } from '../pins/removal/kept-bounds.ts'
import type { AccessModule } from './access-module.ts'
import type { ClustersModule } from './clusters-module.ts'
import type { ContentModule } from './content-module.ts'
import { ownAccountOf } from './own-account.ts'
import type { PinsModule } from './pins-module.ts'
import type { Setup } from './setup.ts'
import type { StorageModule } from './storage-module.ts'

export type BulkModule = ReturnType<typeof makeBulk>

export function makeBulk(
  setup: Setup,
  {
    storage,
    access,
    content,
    clusters,
    pins,
  }: {
    storage: StorageModule
    access: AccessModule
    content: ContentModule
    clusters: ClustersModule
    pins: PinsModule
  },
) {
  const { clock, logger, config, activity } = setup
  const { bulk, records, fetches, accounts: stored } = storage.catalogue
  const { accounts, plans } = access
  const { changes, scheduler, backendOf, targets, wakeSweeper } = pins
  const steps = new BulkSteps()
  const edits = new BulkEdits({ targets, clusters: clusters.registry })
  const limitsOf = async (accountId: string) => plans.get((await stored.get(accountId))?.plan ?? '')
  const ended = endedEarly({ events: setup.events, logger, wake: () => runner.wake() })
  const bounds = new KeptBounds({ bulk, limitsOf, clock, logger, ended })
  changes.observe({ removed: ({ accountId }) => bounds.look(accountId) })
  const runner = bulkRunner(
    {
      bulk,
      records,
      fetches,
      changes,
      clock,
      backendOf,
      limitsOf,
      leaveFetch: fetchId => scheduler.left(fetchId),
      wakeFetches: () => scheduler.wake(),
      wakeSweeper,
      stepped: () => steps.ended(),
      purged: accountId => bounds.look(accountId),
    },
    logger,
  )
  const room = new DiskRoom({
    bulk,
    collector: content.collector,
    backends: [...storage.reserves.keys()],
    isSetBack: () => pins.deletion.isSetBack(),
    clock,
    ended,
  })
  const undoMs = config.bulk.undoSeconds * 1_000
  const service = new BulkService({ bulk, records, accounts, plans, clock, undoMs, edits, wake: () => runner.wake() })
  const ownAccount = ownAccountOf(setup, access)
  return {
    bulk: service,
    jobs: bulkJobs({ bulk: service, steps, activity, clock, ownAccount }),
    /** Deletes unused blocks, and first what undo periods keep if `endUndo` is set. */
    collect: async ({ graceMs, endUndo = false }: { graceMs?: number | undefined; endUndo?: boolean | undefined }) => {
      if (endUndo) await room.endAll()
      const freed = await content.collector.collect(graceMs)
      return { ...freed, keptBytes: (await bulk.keptTotals()).bytes }
    },
    start: async (): Promise<void> => {
      for (const reserve of storage.reserves.values()) reserve.whenFull(hasRoom => room.make(hasRoom))
      pins.accountRemoval.whenPeriodsEnd(() => runner.wake())
      runner.wake()
    },
    stop: async (): Promise<void> => {
      await runner.stop()
      await bounds.stop()
    },
  }
}
