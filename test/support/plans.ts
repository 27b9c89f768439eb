import type { Plan } from '../../src/index.ts'

/** Returns a plan without limits, except those given. */
export function planOf(limits: Partial<Omit<Plan, 'name'>> = {}): Omit<Plan, 'name'> {
  return {
    timelock: true,
    clusters: '*',
    serverImport: true,
    maxFileBytes: null,
    maxDirectoryBytes: null,
    maxDirectoryFiles: null,
    maxStorageBytes: null,
    maxPins: null,
    maxKeys: 100,
    maxQueuedPins: null,
    maxEgressBytes: null,
    pageLimit: { default: 20, max: 100 },
    rateLimit: null,
    accountRateLimit: null,
    ...limits,
  }
}
