// What the contract answers on accounts, their credentials and webhooks. Times are ISO 8601 in UTC with milliseconds.

/** What an account keeps. */
export interface Usage {
  /** Live records. */
  pins: number
  /** What counts against the quota: each distinct DAG once. */
  storedBytes: number
}

/** What a plan allows; null is no limit. */
export interface Plan {
  name: string
  /** Whether records may end. */
  timelock: boolean
  /** Ids. */
  clusters: string[] | '*'
  /** Whether directories of the server's disk can be imported. */
  serverImport: boolean
  /** Bytes. */
  maxFileBytes: number | null
  maxDirectoryBytes: number | null
  maxDirectoryFiles: number | null
  maxStorageBytes: number | null
  /** Records. */
  maxPins: number | null
  maxKeys: number | null
  /** Pins by CID that wait or are being fetched. */
  maxQueuedPins: number | null
  /** Rows of a page of the list. */
  pageLimit: { default: number; max: number }
  rateLimit: { requests: number; windowSeconds: number } | null
  accountRateLimit: { requests: number; windowSeconds: number } | null
}

/** The account that asks. */
export interface User {
  id: string
  email: string
  username: string
  /** Its email where it has none. */
  name: string
  role: 'owner' | 'user'
  /** Its name. */
  plan: string
  planDetails: Plan
  /** How many it may use. */
  clusters: number
  usage: Usage
  createdAt: string
  twoFactorEnabled: boolean
}

/** An API key, without its secret. */
export interface Key {
  name: string
  label: string | null
  /** How the secret begins. */
  prefix: string
  /** The key that made it, by name. */
  parent: string | null
  scopes: string[]
  ipAllowlist: string[]
  createdAt: string
  expiresAt: string | null
  lastUsed: string | null
  /** What an upload token is for; null for every other key. */
  upload: UploadGrant | null
  /** Uploads made with it, if it is an upload token. */
  uses: number
}

/** What an upload token is for. */
export interface UploadGrant {
  /** How many uploads. */
  maxUses: number
  /** Content bytes of one upload; null for what the plan allows. */
  maxBytes: number | null
  /** The cluster that uploads go to; null for the account's. */
  cl: string | null
  /** When uploads end. */
  timelock: string | null
}

/** A key that was just made. */
export interface NewKey {
  /** The secret, shown this once. */
  token: string
  name: string
  label: string | null
  scopes: string[]
  createdAt: string
  expiresAt: string | null
}

/** Somebody who has signed in. */
export interface NewSession {
  /** A credential with every scope, good for 24 hours. */
  token: string
  user: User
}

/** Somebody who has to give a code of the second factor before being signed in. */
export interface SecondFactorAsked {
  requires2FA: true
  /** Good once, and for five minutes. */
  temporaryToken: string
}

/** Where an account is signed in. */
export interface SessionRow {
  id: string
  createdAt: string
  expiresAt: string
  /** Whether it is the one that asks. */
  current: boolean
}

/** What an authenticator app is to know. */
export interface SecondFactorSetup {
  /** Base32. */
  secret: string
  /** The same as an address, for a QR code. */
  otpauthUrl: string
}

/** An address that is told of what becomes of records. */
export interface Webhook {
  id: string
  url: string
  createdAt: string
  /** Deliveries that have not ended. */
  waiting: number
  /** Transitions that were not told, because too many waited. */
  dropped: number
}

/** A webhook that was just made. */
export interface NewWebhook extends Webhook {
  /** What deliveries are signed with, shown this once. */
  secret: string
}

/** What a webhook was told, or has still to be. */
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
  /** What the next page comes after; null at the end. */
  next: string | null
}
