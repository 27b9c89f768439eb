/**
 * Status of a pin. `pinned` means that the server has stored every block durably.
 *
 * All times in responses are in ISO 8601, in UTC and with milliseconds.
 */
export type PinState = 'queued' | 'pinning' | 'pinned' | 'failed'

/** A record: one content that an account pins in one cluster. */
export interface Upload {
  /** CID in the request, or CID of the uploaded content. */
  cid: string
  clusterId: string
  /** Time at which the record expires. Null if the record never expires. */
  expiresAt: string | null
  createdAt: string
  status: PinState
  /** Id of the record. */
  uploadId: string
  /** Display name. It is the CID if the record has no name. */
  name: string
  /** Size of the content in bytes. */
  size: number
  type: 'file' | 'directory' | 'pin'
}

/** A file of a directory. */
export interface DagFile {
  cid: string
  /** Last name of the path. */
  filename: string
  /** Size of the file in bytes. */
  size: number
  /** Path below the root of the directory, with `/` between names. */
  path: string
}

/** An uploaded directory. */
export interface Directory extends Upload {
  message: string
  /** CID of the directory. It always equals `cid`. */
  dagCid: string
  filename: string
  /** The first 1,000 files of the directory. */
  files: DagFile[]
  /** Number of all files in the directory. */
  total_files: number
  /** Size of all files together, in bytes. */
  total_size: number
}

/** A root of an imported CAR. */
export interface CarRoot extends Upload {
  /** Number of blocks missing in the CAR, and the CID of the first. Null if none is missing. */
  missing: { blocks: number; first: string } | null
}

/** Result of a CAR import. `roots` lists all roots of the CAR; the other fields describe the first root. */
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

/** Status of one content in one cluster. */
export interface Allocation {
  /** Id of the cluster. */
  peer: string
  status: PinState
  timestamp: string
  error: string | null
}

/** Detailed status of a pin. */
export interface Status extends Pin {
  /** Time of the last status change. */
  statusAt: string
  /** Explanation of the status. Null if there is none. */
  reason: string | null
  /** Number of distinct blocks stored so far. */
  blocks: number
  /** Size of the stored blocks in bytes. */
  bytes: number
  /** Number of attempts to fetch the missing blocks. */
  attempts: number
  nextAttemptAt: string | null
  lastError: string | null
  /** Time of the last announcement to the network. Null if the server never announced the content. */
  lastAnnounced: string | null
  /** Ids of the clusters in which the account has this content. */
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
  /** Size in bytes of all distinct blocks of the record. */
  dagSize: number
  /** CID of the directory that contains this file. Null if the row is a record. */
  parentCid: string | null
  /** Path of this file in the directory. Null if the row is a record. */
  path: string | null
}

/** One page of the list of records. */
export interface UploadPage {
  uploads: ListedUpload[]
  /** Number of rows on all pages. If `totalIsLowerBound` is set, there are more rows than this number. */
  total: number
  /** Set if a search by name or metadata has more rows than the server counts. */
  totalIsLowerBound?: true
  pagination: { page: number; limit: number; total: number; totalPages: number }
}

/** A removed pin. */
export interface Removed {
  cid: string
  removed: true
  success: true
}

/** Result of renaming a record. */
export interface Renamed {
  updated: true
  newName: string
  /** New metadata of the record, if the request contained metadata. */
  meta?: Record<string, string>
}

/** A cluster that the account may use. */
export interface Cluster {
  clusterId: string
  id: string
  label: string
  region: string
  /** Country of the cluster. It is the region if the cluster is not in a single country. */
  country: string
  /** Gateways of the cluster. `publicUrl` ends with `/ipfs/`; append a CID to build the URL of its content. */
  gateways: { publicUrl: string; url: string; label: string; order: number }[]
}
