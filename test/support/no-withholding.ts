import type { TakedownMeans } from '../../src/gateway/policy/takedowns.ts'

/** A ledger that is told of no takedown, for tests of the list alone. */
export const noWithholding: TakedownMeans['withholding'] = {
  begin: async () => undefined,
  change: async () => undefined,
  settled: async () => undefined,
}
