/** At most `requests` in each window of `windowSeconds`. */
export interface RateLimit {
  requests: number
  windowSeconds: number
}

/** Limits of an account; null for no limit. Sizes are bytes. */
export interface Plan {
  name: string
  /** True if uploads and pins may expire. */
  timelock: boolean
  /** Ids of the clusters that the plan may use, or all of them. */
  clusters: readonly string[] | '*'
  /** True if the HTTP API allows uploads by server path, which can read everything in the import roots. */
  serverImport: boolean
  /** Content bytes of one file, inclusive. */
  maxFileBytes: number | null
  /** Content bytes of all files of one directory upload. */
  maxDirectoryBytes: number | null
  /** Files of one directory upload. */
  maxDirectoryFiles: number | null
  /** Bytes of the blocks of an account's distinct roots. A block counts at least 512, a root once. */
  maxStorageBytes: number | null
  /** Live records of an account. */
  maxPins: number | null
  /** API keys of an account that have not expired. */
  maxKeys: number | null
  /** Pin requests of an account that wait for their content. */
  maxQueuedPins: number | null
  /** Rows per page of a list, by default and at most. */
  pageLimit: { default: number; max: number }
  /** Per API key or session. */
  rateLimit: RateLimit | null
  /** For all credentials of an account together. */
  accountRateLimit: RateLimit | null
}

/** Configuration of a plan. Omitted fields get defaults. */
export type PlanOptions = Omit<Plan, 'name' | 'maxKeys' | 'maxQueuedPins' | 'serverImport'> &
  Partial<Pick<Plan, 'maxKeys' | 'maxQueuedPins' | 'serverImport'>>

export const DEFAULT_MAX_KEYS = 100
export const DEFAULT_MAX_QUEUED_PINS = 1_000

const MiB = 1024 ** 2
const GiB = 1024 ** 3

/** Plans that exist without configuration. */
export const builtInPlans: readonly Plan[] = [
  {
    name: 'free',
    timelock: false,
    clusters: ['cl0-global'],
    serverImport: true,
    maxFileBytes: 100 * MiB,
    maxDirectoryBytes: 500 * MiB,
    maxDirectoryFiles: 1_000,
    maxStorageBytes: GiB,
    maxPins: 1_000,
    maxKeys: DEFAULT_MAX_KEYS,
    maxQueuedPins: DEFAULT_MAX_QUEUED_PINS,
    pageLimit: { default: 20, max: 100 },
    rateLimit: { requests: 120, windowSeconds: 60 },
    accountRateLimit: { requests: 300, windowSeconds: 60 },
  },
  {
    name: 'premium',
    timelock: true,
    clusters: '*',
    serverImport: true,
    maxFileBytes: 32 * GiB,
    maxDirectoryBytes: 128 * GiB,
    maxDirectoryFiles: 100_000,
    maxStorageBytes: 1024 * GiB,
    maxPins: 1_000_000,
    maxKeys: DEFAULT_MAX_KEYS,
    maxQueuedPins: DEFAULT_MAX_QUEUED_PINS,
    pageLimit: { default: 50, max: 500 },
    rateLimit: { requests: 1_200, windowSeconds: 60 },
    accountRateLimit: { requests: 3_000, windowSeconds: 60 },
  },
  {
    name: 'unlimited',
    timelock: true,
    clusters: '*',
    serverImport: true,
    maxFileBytes: null,
    maxDirectoryBytes: null,
    maxDirectoryFiles: null,
    maxStorageBytes: null,
    maxPins: null,
    maxKeys: DEFAULT_MAX_KEYS,
    maxQueuedPins: DEFAULT_MAX_QUEUED_PINS,
    pageLimit: { default: 100, max: 1_000 },
    rateLimit: null,
    accountRateLimit: null,
  },
]
