import { BulkSteps, bulkJobs } from '../pins/bulk/bulk-jobs.ts'
import { bulkRunner } from '../pins/bulk/bulk-runner.ts'
import { BulkService } from '../pins/bulk/bulk-service.ts'
import { BulkEdits } from '../pins/bulk/edit-checks.ts'
import type { AccessModule } from './access-module.ts'
import type { ClustersModule } from './clusters-module.ts'
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
    clusters,
    pins,
  }: {
    storage: StorageModule
    access: AccessModule
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
  const runner = bulkRunner(
    {
      bulk,
      records,
      fetches,
      changes,
      clock,
      backendOf,
      limitsOf: async accountId => plans.get((await stored.get(accountId))?.plan ?? ''),
      leaveFetch: fetchId => scheduler.left(fetchId),
      wakeFetches: () => scheduler.wake(),
      wakeSweeper,
      stepped: () => steps.ended(),
    },
    logger,
  )
  const undoMs = config.bulk.undoSeconds * 1_000
  const service = new BulkService({ bulk, records, accounts, plans, clock, undoMs, edits, wake: () => runner.wake() })
  const ownAccount = ownAccountOf(setup, access)
  return {
    bulk: service,
    jobs: bulkJobs({ bulk: service, steps, activity, clock, ownAccount }),
    start: async (): Promise<void> => runner.wake(),
    stop: () => runner.stop(),
  }
}
