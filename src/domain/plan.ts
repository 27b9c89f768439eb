/** At most `requests` requests in each window of `windowSeconds`. */
export interface RateLimit {
  requests: number
  windowSeconds: number
}

/** Limits of an account. Null means no limit. All sizes are in bytes. */
export interface Plan {
  name: string
  timelock: boolean
  /** Ids of the clusters that the plan may use, or `*` for all clusters. */
  clusters: readonly string[] | '*'
  /** True if the HTTP API allows uploads by server path. Such an upload can read everything in the import roots. */
  serverImport: boolean
  maxFileBytes: number | null
  maxDirectoryBytes: number | null
  maxDirectoryFiles: number | null
  /**
   * Maximum total size of the blocks of an account. Each block counts as at least 512 bytes, and each root counts only
   * once.
   */
  maxStorageBytes: number | null
  maxPins: number | null
  /** Maximum number of unexpired API keys. */
  maxKeys: number | null
  /** Maximum number of pin requests that wait for their content. */
  maxQueuedPins: number | null
  /** Maximum number of body bytes that the gateway sends for an account in a month, in UTC. */
  maxEgressBytes: number | null
  /** Default and maximum number of rows per page of a list. */
  pageLimit: { default: number; max: number }
  /** Rate limit of each API key or session. */
  rateLimit: RateLimit | null
  /** Rate limit of all credentials of an account together. */
  accountRateLimit: RateLimit | null
}

/** Configuration of a plan. Omitted fields have defaults. */
export type PlanOptions = Pick<Plan, 'timelock' | 'clusters'> & Partial<Omit<Plan, 'name'>>

const DEFAULTS = { maxKeys: 100, maxQueuedPins: 1_000, maxEgressBytes: null, serverImport: true }

const MiB = 1024 ** 2
const GiB = 1024 ** 3

export const builtInPlans: readonly Plan[] = [
  {
    name: 'free',
    timelock: false,
    clusters: ['cl0-global'],
    maxFileBytes: 100 * MiB,
    maxDirectoryBytes: 500 * MiB,
    maxDirectoryFiles: 1_000,
    maxStorageBytes: GiB,
    maxPins: 1_000,
    ...DEFAULTS,
    pageLimit: { default: 20, max: 100 },
    rateLimit: { requests: 120, windowSeconds: 60 },
    accountRateLimit: { requests: 300, windowSeconds: 60 },
  },
  {
    name: 'premium',
    timelock: true,
    clusters: '*',
    maxFileBytes: 32 * GiB,
    maxDirectoryBytes: 128 * GiB,
    maxDirectoryFiles: 100_000,
    maxStorageBytes: 1024 * GiB,
    maxPins: 1_000_000,
    ...DEFAULTS,
    pageLimit: { default: 50, max: 500 },
    rateLimit: { requests: 1_200, windowSeconds: 60 },
    accountRateLimit: { requests: 3_000, windowSeconds: 60 },
  },
  {
    name: 'unlimited',
    timelock: true,
    clusters: '*',
    maxFileBytes: null,
    maxDirectoryBytes: null,
    maxDirectoryFiles: null,
    maxStorageBytes: null,
    maxPins: null,
    ...DEFAULTS,
    pageLimit: { default: 100, max: 1_000 },
    rateLimit: null,
    accountRateLimit: null,
  },
]
