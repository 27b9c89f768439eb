import { ADMIN_PATH, BASE_PATH } from '../../contract/routes.ts'
import type { FeatureModule } from '../feature.ts'
import { allJobsRoute } from './all-jobs-route.ts'
import { BulkSteps, bulkJobs } from './bulk-jobs.ts'
import { BulkService } from './bulk-service.ts'
import { BulkWork } from './bulk-work.ts'
import { BulkEdits } from './edit-checks.ts'
import { type BulkServices, jobRoutes } from './job-routes.ts'

export const bulkModule: FeatureModule<BulkServices> = {
  routes: [
    { base: BASE_PATH, before: '/users/me/clusters', routes: jobRoutes },
    { base: ADMIN_PATH, before: '/backups', routes: [allJobsRoute] },
  ],
  make: ({ clock, config, core }) => {
    const { bulk, records, fetches, accounts, plans, targets, clusters, activity, ownAccount } = core
    const steps = new BulkSteps()
    const edits = new BulkEdits({ targets, clusters })
    const undoMs = config.bulk.undoSeconds * 1_000
    const service = new BulkService({ bulk, records, accounts, plans, clock, undoMs, edits, wake: core.wakeChanges })
    return {
      services: { bulk: service },
      changes: new BulkWork({ ...core, bulk, records, fetches, clock, stepped: () => steps.ended() }),
      jobs: bulkJobs({ bulk: service, steps, activity, clock, ownAccount }),
    }
  },
}
