import type { BulkJobs } from '../features/bulk/bulk-jobs.ts'

/** Returns the jobs of an engine, whose room is loaded by the first call. */
export function laterJobs(load: () => Promise<BulkJobs>): BulkJobs {
  return {
    start: async request => (await load()).start(request),
    get: async (id, options) => (await load()).get(id, options),
    list: async options => (await load()).list(options),
    undo: async (id, options) => (await load()).undo(id, options),
    untilEnded: async (id, options) => (await load()).untilEnded(id, options),
  }
}
