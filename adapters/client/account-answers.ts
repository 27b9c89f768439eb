/** Current usage of an account. */
export interface Usage {
  /** Live records. */
  pins: number
  /** Bytes that count against the quota: each distinct DAG once. */
  storedBytes: number
}

/** Limits of a plan; null for no limit. */
export interface Plan {
  name: string
  /** True if records may expire. */
  timelock: boolean
  /** Ids of the allowed clusters. */
  clusters: string[] | '*'
  /** True if the plan may import directories of the server's disk. */
  serverImport: boolean
  /** Bytes. */
  maxFileBytes: number | null
  maxDirectoryBytes: number | null
  maxDirectoryFiles: number | null
  maxStorageBytes: number | null
  /** Records. */
  maxPins: number | null
  maxKeys: number | null
  /** Pins by CID that are queued or being fetched. */
  maxQueuedPins: number | null
  /** Rows per page of a list. */
  pageLimit: { default: number; max: number }
  rateLimit: { requests: number; windowSeconds: number } | null
  accountRateLimit: { requests: number; windowSeconds: number } | null
}

/** The account of the credential. */
export interface User {
  id: string
  email: string
  username: string
  /** Display name; the email by default. */
  name: string
  role: 'owner' | 'user'
  /** Name of the plan. */
  plan: string
  planDetails: Plan
  /** Number of clusters that it may use. */
  clusters: number
  usage: Usage
  createdAt: string
  twoFactorEnabled: boolean
}

/** An API key, without its secret. */
export interface Key {
  name: string
  label: string | null
  /** First characters of the secret. */
  prefix: string
  /** Name of the key that created it. */
  parent: string | null
  scopes: string[]
  ipAllowlist: string[]
  createdAt: string
  expiresAt: string | null
  lastUsed: string | null
  /** Limits of an upload token; null for every other key. */
  upload: UploadGrant | null
  /** Uploads made so far, if it is an upload token. */
  uses: number
}

/** Limits of an upload token. */
export interface UploadGrant {
  /** Most uploads. */
  maxUses: number
  /** Most content bytes of one upload; null for the plan's limit. */
  maxBytes: number | null
  /** Cluster of the uploads; null for the account's. */
  cl: string | null
  /** Expiry of the uploads. */
  timelock: string | null
}

/** A new key. */
export interface NewKey {
  /** The secret, which no other answer contains. */
  token: string
  name: string
  label: string | null
  scopes: string[]
  createdAt: string
  expiresAt: string | null
}

/** A new session. */
export interface NewSession {
  /** Credential with every scope, valid for 24 hours. */
  token: string
  user: User
}

/** A sign-in that still needs a code of the second factor. */
export interface SecondFactorAsked {
  requires2FA: true
  /** Valid once, for five minutes. */
  temporaryToken: string
}

/** A session of the account. */
export interface SessionRow {
  id: string
  createdAt: string
  expiresAt: string
  /** True for the session of this request. */
  current: boolean
}

/** Secret for an authenticator app. */
export interface SecondFactorSetup {
  /** Base32. */
  secret: string
  /** The secret as a URL, for a QR code. */
  otpauthUrl: string
}

/** URL that receives the events of records. */
export interface Webhook {
  id: string
  url: string
  createdAt: string
  /** Deliveries still to be made. */
  waiting: number
  /** Events dropped because too many waited. */
  dropped: number
}

/** A new webhook. */
export interface NewWebhook extends Webhook {
  /** Secret that signs deliveries, which no other answer contains. */
  secret: string
}

/** Delivery of an event, made or still to be made. */
export interface Delivery {
  id: string
  event: 'pin:created' | 'pin:status' | 'pin:removed'
  uploadId: string
  state: 'waiting' | 'delivered' | 'failed'
  at: string | null
  attempts: number
  nextAttemptAt: string | null
  lastAttemptAt: string | null
  /** HTTP status of the last answer. */
  lastStatus: number | null
  lastError: string | null
}

/** A page of a list. */
export interface Page<Row> {
  rows: Row[]
  /** Cursor of the next page; null at the end. */
  next: string | null
}
