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
  /** Its region, where it is in no one country. */
  country: string
  /** A CID behind `publicUrl`, which ends with `/ipfs/`, is where content can be opened. */
  gateways: { publicUrl: string; url: string; label: string; order: number }[]
}
