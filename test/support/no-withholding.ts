import type { TakedownMeans } from '../../src/gateway/policy/takedowns.ts'

/** A ledger that ignores takedowns, for tests of the takedown list alone. */
export const noWithholding: TakedownMeans['withholding'] = {
  begin: async () => undefined,
  change: async () => undefined,
  settled: async () => undefined,
}
