/** At most `requests` in each window of `windowSeconds`. */
export interface RateLimit {
  requests: number
  windowSeconds: number
}

/** What an account may do. A limit of `null` means none. Sizes are bytes. */
export interface Plan {
  name: string
  /** Whether uploads and pins may carry an expiry. */
  timelock: boolean
  /** Cluster ids that the plan may use, or all of them. */
  clusters: readonly string[] | '*'
  /** Whether the HTTP contract takes imports by server path, which read all that is in the import roots. */
  serverImport: boolean
  /** Content bytes of one file; a file of exactly this size passes. */
  maxFileBytes: number | null
  /** Content bytes of all files of one directory upload. */
  maxDirectoryBytes: number | null
  /** Files of one directory upload. */
  maxDirectoryFiles: number | null
  /** Bytes of the blocks of all distinct roots of an account, each block counted as at least 512, each root once. */
  maxStorageBytes: number | null
  /** Live records of an account. */
  maxPins: number | null
  /** API keys of an account that have not expired. */
  maxKeys: number | null
  /** Pin requests of an account that wait for their content. */
  maxQueuedPins: number | null
  /** Rows per page of a list: where a request does not say, and at most. */
  pageLimit: { default: number; max: number }
  /** Per API key or session. */
  rateLimit: RateLimit | null
  /** Over all credentials of an account. */
  accountRateLimit: RateLimit | null
}

/** A plan as it is configured, its name apart; what may be left out is the default then. */
export type PlanOptions = Omit<Plan, 'name' | 'maxKeys' | 'maxQueuedPins' | 'serverImport'> &
  Partial<Pick<Plan, 'maxKeys' | 'maxQueuedPins' | 'serverImport'>>

export const DEFAULT_MAX_KEYS = 100
export const DEFAULT_MAX_QUEUED_PINS = 1_000

const MiB = 1024 ** 2
const GiB = 1024 ** 3

/** The plans that exist without any configuration. */
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
