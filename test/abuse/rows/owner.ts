import { flatDirectory } from '../dags.ts'
import type { AbuseRow } from '../row.ts'

/** Expensive requests of the owner, during which others must be served. */
export const rows: readonly AbuseRow[] = [
  {
    name: 'verification of ten thousand small blocks',
    answers: [200],
    setUp: async server => {
      await server.store(flatDirectory(10_000, 'verify'))
    },
    request: async server => (await server.ask('/admin/v1/verify', { method: 'POST' })).status,
  },
]
