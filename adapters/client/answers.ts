/**
 * Status of a pin. `pinned` means that every block of it is stored and durable. Times in answers are ISO 8601 in UTC
 * with milliseconds.
 */
export type PinState = 'queued' | 'pinning' | 'pinned' | 'failed'

/** A record: one content of an account in one cluster. */
export interface Upload {
  /** The CID of the request, or of the uploaded content. */
  cid: string
  clusterId: string
  /** Expiry; null for never. */
  expiresAt: string | null
  createdAt: string
  status: PinState
  /** Id of the record. */
  uploadId: string
  /** Display name; the CID by default. */
  name: string
  /** Bytes of content. */
  size: number
  type: 'file' | 'directory' | 'pin'
}

/** A file of a directory. */
export interface DagFile {
  cid: string
  /** Last name of the path. */
  filename: string
  /** Bytes. */
  size: number
  /** Path below the root, with `/` between names. */
  path: string
}

/** An uploaded directory. */
export interface Directory extends Upload {
  message: string
  /** Same as `cid`. */
  dagCid: string
  filename: string
  /** The first thousand files. */
  files: DagFile[]
  /** Number of all files. */
  total_files: number
  /** Bytes. */
  total_size: number
}

/** A root of an imported CAR. */
export interface CarRoot extends Upload {
  /** Blocks that the CAR lacked; only with `allowPartial`. */
  missing: { blocks: number; first: string } | null
}

/** An imported CAR: its first root, and all of them. */
export interface Car extends Upload {
  roots: CarRoot[]
}

/** A record created by CID. */
export interface Pin extends Upload {
  /** True if `status` is `pinned`. */
  pinned: boolean
  originalName: string | null
  customName: string | null
  /** Metadata of the record. */
  meta: Record<string, string>
}

/** Status of a content in one cluster. */
export interface Allocation {
  /** Id of the cluster. */
  peer: string
  status: PinState
  timestamp: string
  error: string | null
}

/** Detailed status of a pin. */
export interface Status extends Pin {
  /** Instant of the last change of status. */
  statusAt: string
  /** Reason of the status, if there is one. */
  reason: string | null
  /** Distinct blocks stored so far. */
  blocks: number
  /** Bytes of these blocks. */
  bytes: number
  /** Attempts to fetch the rest. */
  attempts: number
  nextAttemptAt: string | null
  lastError: string | null
  /** Last announcement to the network; null for never. */
  lastAnnounced: string | null
  /** Ids of the account's clusters with this content. */
  peers: string[]
  allocations: Allocation[]
}

/** A record in a list. */
export interface ListedUpload extends Upload {
  uploadedAt: string
  originalName: string | null
  customName: string | null
  /** Metadata of the record. */
  meta: Record<string, string>
  /** Bytes of all its distinct blocks. */
  dagSize: number
  /** Directory that lists it as a file. */
  parentCid: string | null
  /** Path in that directory. */
  path: string | null
}

/** A page of a list, the newest first. */
export interface UploadPage {
  uploads: ListedUpload[]
  /** Number of rows on all pages; a lower bound if `totalIsLowerBound`. */
  total: number
  /** True while a search by name or meta has more rows than the node counts. */
  totalIsLowerBound?: true
  pagination: { page: number; limit: number; total: number; totalPages: number }
}

/** A removed pin. */
export interface Removed {
  cid: string
  removed: true
  success: true
}

/** Result of a rename. */
export interface Renamed {
  updated: true
  newName: string
  /** New metadata, if the request had any. */
  meta?: Record<string, string>
}

/** A cluster that the account may use. */
export interface Cluster {
  clusterId: string
  id: string
  label: string
  region: string
  /** Its region, unless it is in one country. */
  country: string
  /** Content opens at `publicUrl`, which ends with `/ipfs/`, followed by its CID. */
  gateways: { publicUrl: string; url: string; label: string; order: number }[]
}
