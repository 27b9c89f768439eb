/** Current usage of an account. */
export interface Usage {
  /** Number of live records. */
  pins: number
  /** Bytes that count against the storage quota. Each distinct DAG counts once. */
  storedBytes: number
}

/** Limits of a plan. A limit of null means that the plan does not limit the value. */
export interface Plan {
  name: string
  /** True if the plan allows uploads and pins with an expiry. */
  timelock: boolean
  /** Ids of the clusters that the plan allows, or `*` for all clusters. */
  clusters: string[] | '*'
  /** True if accounts on this plan may import directories from the server's disk. */
  serverImport: boolean
  /** Maximum size of a file, in bytes. */
  maxFileBytes: number | null
  maxDirectoryBytes: number | null
  maxDirectoryFiles: number | null
  maxStorageBytes: number | null
  /** Maximum number of records. */
  maxPins: number | null
  maxKeys: number | null
  /** Maximum number of pins by CID that are queued or being fetched. */
  maxQueuedPins: number | null
  /** Default and maximum number of rows per page of a list. */
  pageLimit: { default: number; max: number }
  rateLimit: { requests: number; windowSeconds: number } | null
  accountRateLimit: { requests: number; windowSeconds: number } | null
}

/** The account that the client's credential belongs to. */
export interface User {
  id: string
  email: string
  username: string
  /** Display name. It is the email if the account has no name. */
  name: string
  role: 'owner' | 'user'
  /** Name of the account's plan. */
  plan: string
  planDetails: Plan
  /** Number of clusters that the account may use. */
  clusters: number
  usage: Usage
  createdAt: string
  twoFactorEnabled: boolean
}

/** An API key, without its secret. */
export interface Key {
  name: string
  label: string | null
  /** First characters of the key's secret. */
  prefix: string
  /** Name of the key that created this key. Null if no key created it. */
  parent: string | null
  scopes: string[]
  ipAllowlist: string[]
  createdAt: string
  expiresAt: string | null
  lastUsed: string | null
  /** Limits of an upload token. Null if the key is not an upload token. */
  upload: UploadGrant | null
  /** Number of uploads made with this key so far, if the key is an upload token. */
  uses: number
}

/** Limits of an upload token. */
export interface UploadGrant {
  /** Maximum number of uploads. */
  maxUses: number
  /** Maximum content size of one upload, in bytes. Null if only the plan limits the size. */
  maxBytes: number | null
  /** Id of the cluster that stores the uploads. Null means the account's default cluster. */
  cl: string | null
  /** Time at which the uploads expire. Null if they never expire. */
  timelock: string | null
}

/** A newly created key. */
export interface NewKey {
  /** The key's secret. No other response contains the secret. */
  token: string
  name: string
  label: string | null
  scopes: string[]
  createdAt: string
  expiresAt: string | null
}

/** A newly created session. */
export interface NewSession {
  /** The session's credential. It has every scope and is valid for 24 hours. */
  token: string
  user: User
}

/** Answer to a sign-in that still needs a second-factor code. */
export interface SecondFactorAsked {
  requires2FA: true
  /** Token that completes the sign-in. It works once and expires after five minutes. */
  temporaryToken: string
}

/** A session of the account. */
export interface SessionRow {
  id: string
  createdAt: string
  expiresAt: string
  /** True if this session made the request. */
  current: boolean
}

/** A secret to set up in an authenticator app. */
export interface SecondFactorSetup {
  /** The secret in Base32. */
  secret: string
  /** The secret as an `otpauth:` URL, to show as a QR code. */
  otpauthUrl: string
}

/** A webhook: a URL that receives the events of the account's records. */
export interface Webhook {
  id: string
  url: string
  createdAt: string
  /** Number of deliveries that are not finished yet. */
  waiting: number
  /** Number of events dropped because too many deliveries were waiting. */
  dropped: number
}

/** A newly created webhook. */
export interface NewWebhook extends Webhook {
  /** Secret that signs the deliveries. No other response contains the secret. */
  secret: string
}

/** Delivery of an event to a webhook, finished or pending. */
export interface Delivery {
  id: string
  event: 'pin:created' | 'pin:status' | 'pin:removed'
  uploadId: string
  state: 'waiting' | 'delivered' | 'failed'
  at: string | null
  attempts: number
  nextAttemptAt: string | null
  lastAttemptAt: string | null
  /** HTTP status of the receiver's last response. */
  lastStatus: number | null
  lastError: string | null
}

/** One page of a list. */
export interface Page<Row> {
  rows: Row[]
  /** Cursor of the next page. Null on the last page. */
  next: string | null
}
