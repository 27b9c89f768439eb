// What the contract answers. Times are ISO 8601 in UTC with milliseconds.

/** How far a pin is. `pinned` means that every block of it is stored and durable. */
export type PinState = 'queued' | 'pinning' | 'pinned' | 'failed'

/** A record: what an account keeps of a content in a cluster. */
export interface Upload {
  /** As it was sent, or as the upload made it. */
  cid: string
  clusterId: string
  /** When it ends; null for never. */
  expiresAt: string | null
  createdAt: string
  status: PinState
  /** Of this record. */
  uploadId: string
  /** Its CID where it has none. */
  name: string
  /** Bytes of content. */
  size: number
  type: 'file' | 'directory' | 'pin'
}

/** A file of a directory. */
export interface DagFile {
  cid: string
  /** The last name of the path. */
  filename: string
  /** Bytes. */
  size: number
  /** Names below the root, `/` between them. */
  path: string
}

/** An uploaded directory. */
export interface Directory extends Upload {
  message: string
  /** The same as `cid`. */
  dagCid: string
  filename: string
  /** The first thousand. */
  files: DagFile[]
  /** How many there are. */
  total_files: number
  /** Bytes. */
  total_size: number
}

/** A root of an imported CAR. */
export interface CarRoot extends Upload {
  /** What the CAR lacked of it; only with `allowPartial`. */
  missing: { blocks: number; first: string } | null
}

/** An imported CAR: its first root, and all of them. */
export interface Car extends Upload {
  roots: CarRoot[]
}

/** A record that was asked for by its CID. */
export interface Pin extends Upload {
  /** Whether `status` is `pinned`. */
  pinned: boolean
  originalName: string | null
  customName: string | null
  /** What is kept with it. */
  meta: Record<string, string>
}

/** Where a content is, and how far it is there. */
export interface Allocation {
  /** The cluster. */
  peer: string
  status: PinState
  timestamp: string
  error: string | null
}

/** How far a pin is, in full. */
export interface Status extends Pin {
  /** Since when it is in this state. */
  statusAt: string
  /** Why it is in this state, if there is a reason. */
  reason: string | null
  /** Distinct blocks stored so far. */
  blocks: number
  /** Of these blocks. */
  bytes: number
  /** How often it has been tried to get the rest. */
  attempts: number
  nextAttemptAt: string | null
  lastError: string | null
  /** When the network was last told who has it; null for never. */
  lastAnnounced: string | null
  /** Ids of the clusters in which the account has it. */
  peers: string[]
  allocations: Allocation[]
}

/** A record in a list. */
export interface ListedUpload extends Upload {
  uploadedAt: string
  originalName: string | null
  customName: string | null
  /** What is kept with it. */
  meta: Record<string, string>
  /** Bytes of all its distinct blocks. */
  dagSize: number
  /** The directory it is listed as a file of. */
  parentCid: string | null
  /** Where it is in that directory. */
  path: string | null
}

/** One page of a list, the newest first. */
export interface UploadPage {
  uploads: ListedUpload[]
  /** What all pages together deliver. */
  total: number
  pagination: { page: number; limit: number; total: number; totalPages: number }
}

/** A removed pin. */
export interface Removed {
  cid: string
  removed: true
  success: true
}

/** What became of a new name. */
export interface Renamed {
  updated: true
  newName: string
  /** As it is now, if it was given. */
  meta?: Record<string, string>
}

/** A cluster that the account may use. */
export interface Cluster {
  clusterId: string
  id: string
  label: string
  region: string
  country: string | null
  /** A CID behind `publicUrl`, which ends with `/ipfs/`, is where content can be opened. */
  gateways: { publicUrl: string; url: string; label: string; order: number }[]
}

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
  name: string | null
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
