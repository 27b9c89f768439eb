import type { RecordProblem } from '../catalogue/reconciliation.ts'
import type { ClusterProblem } from './cluster-survey.ts'

/** What may be wrong, besides {@link RecordProblem} and {@link ClusterProblem}. */
export type FindingKind =
  | RecordProblem
  /** A hold whose record or fetch is gone. */
  | 'hold-unwanted'
  /** A DAG that is kept for nobody; in a dry run also one that a record found `record-unheld` will hold. */
  | 'root-unwanted'
  /** A fetch that no record waits for. */
  | 'fetch-unwanted'
  /** An account whose pins and bytes are not counted as they are. */
  | 'usage-wrong'
  /** A block whose bytes are not there, or not all of them, or more. */
  | 'block-lost'
  /** A file of a block that the ledger does not know. */
  | 'file-unknown'
  | ClusterProblem

/** Something that was not as it should be. */
export interface Finding {
  kind: FindingKind
  /** A record's, hold's, account's or cluster's id, or the CID of a root or block. */
  what: string
  /** More of it, for people. */
  detail: string | null
}

/** How it is looked, and what is mended. */
export interface ReconcileOptions {
  /** Only tell what is wrong. Default false. */
  dryRun?: boolean | undefined
  /** Go on where more than one in a hundred holds, roots or pins of a cluster is to be released. Default false. */
  force?: boolean | undefined
  signal?: AbortSignal | undefined
  /** Only look at clusters that are kept elsewhere. Default false. */
  onlyClusters?: boolean | undefined
  /** Called with how many of all have been looked at so far. */
  onProgress?: ((progress: { seen: number; found: number }) => void) | undefined
}

/** What was looked at, found and mended. */
export interface Reconciled {
  /** Whether it only told. */
  dryRun: boolean
  /** How many of each were looked at. */
  seen: Record<
    ('holds' | 'roots' | 'records' | 'fetches' | 'accounts' | 'blocks' | 'files') | ('placements' | 'pins' | 'samples'),
    number
  >
  /** How many there are of each kind; kinds of which there is none are left out. */
  found: Partial<Record<FindingKind, number>>
  /** The first thousand. */
  findings: Finding[]
}
