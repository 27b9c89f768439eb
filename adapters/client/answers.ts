/** Status of a pin. `pinned` means that the server has stored every block durably. */
export type PinState = 'queued' | 'pinning' | 'pinned' | 'failed'

/** A record: one content that an account pins in one cluster. */
export interface Upload {
  cid: string
  clusterId: string
  expiresAt: string | null
  createdAt: string
  status: PinState
  uploadId: string
  /** The CID by default. */
  name: string
  /** Content size in bytes. */
  size: number
  type: 'file' | 'directory' | 'pin'
  /** Only its account may read the content of a private record. */
  visibility: 'public' | 'private'
  /** Another record keeps the content of this private one public. */
  publicElsewhere?: true
  /** What the database said of this private record, in a list of disputed records. Its node said the other. */
  disputed?: Upload['visibility']
  /** How many nodes should have the content, and how many have it. Only for a new record with several copies. */
  copies?: { wanted: number; have: number }
  /** Link to public content, in answers to uploads. Servers before 0.4.0 send none. */
  url?: string
}

/** A file of a directory. */
export interface DagFile {
  cid: string
  /** Last name of the path. */
  filename: string
  /** In bytes. */
  size: number
  /** Path below the root of the directory, with `/` between names. */
  path: string
}

/** An uploaded directory. */
export interface Directory extends Upload {
  message: string
  /** Always equals `cid`. */
  dagCid: string
  filename: string
  /** The first 1,000 files. */
  files: DagFile[]
  total_files: number
  /** In bytes. */
  total_size: number
}

/** A root of an imported CAR. */
export interface CarRoot extends Upload {
  /** Null if no block is missing. */
  missing: { blocks: number; first: string } | null
}

/** Result of a CAR import. `roots` lists all roots of the CAR; the other fields describe the first root. */
export interface Car extends Upload {
  roots: CarRoot[]
}

/** A record created by CID. */
export interface Pin extends Upload {
  pinned: boolean
  originalName: string | null
  customName: string | null
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
  statusAt: string
  reason: string | null
  blocks: number
  bytes: number
  /** Attempts to fetch. */
  attempts: number
  nextAttemptAt: string | null
  lastError: string | null
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
  meta: Record<string, string>
  /** Size in bytes of all distinct blocks. */
  dagSize: number
  /** Directory that contains this file. Null if the row is a record. */
  parentCid: string | null
  /** Path in the directory. Null if the row is a record. */
  path: string | null
}

/** One page of the list of records. */
export interface UploadPage {
  uploads: ListedUpload[]
  /** Rows on all pages. If `totalIsLowerBound` is set, there are more. */
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
  meta?: Record<string, string>
}

/** A cluster that the account may use. */
export interface Cluster {
  clusterId: string
  id: string
  label: string
  region: string
  /** Country of the cluster, or its region if it is not in a single country. */
  country: string
  /** `publicUrl` ends with `/ipfs/`: append a CID to build the URL of its content. */
  gateways: { publicUrl: string; url: string; label: string; order: number }[]
}
