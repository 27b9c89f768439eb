import type { RecordProblem } from '../catalogue/reconciliation.ts'
import type { ClusterProblem } from './cluster-survey.ts'

/** Kinds of finding, with {@link RecordProblem} and {@link ClusterProblem}. */
export type FindingKind =
  | RecordProblem
  /** A hold whose record or fetch is gone. */
  | 'hold-unwanted'
  /** A root that nothing needs. In a dry run, also one that the repair of a `record-unheld` would hold. */
  | 'root-unwanted'
  /** A fetch that no record waits for. */
  | 'fetch-unwanted'
  /** An account whose stored counts of pins and bytes are wrong. */
  | 'usage-wrong'
  /** A block whose bytes are missing, or have the wrong length. */
  | 'block-lost'
  /** A block file that the ledger does not know. */
  | 'file-unknown'
  | ClusterProblem

/** An inconsistency. */
export interface Finding {
  kind: FindingKind
  /** Id of a record, hold, account or cluster, or the CID of a root or block. */
  what: string
  /** Explanation for people. */
  detail: string | null
}

/** Options of a reconciliation. */
export interface ReconcileOptions {
  /** Reports without repairing. Default false. */
  dryRun?: boolean | undefined
  /** Continues if more than one in a hundred holds, roots or pins of a cluster would be released. Default false. */
  force?: boolean | undefined
  signal?: AbortSignal | undefined
  /** Checks only external clusters. Default false. */
  onlyClusters?: boolean | undefined
  /** Called with the number of items checked so far, and of findings. */
  onProgress?: ((progress: { seen: number; found: number }) => void) | undefined
}

/** Result of a reconciliation. */
export interface Reconciled {
  /** True if nothing was repaired. */
  dryRun: boolean
  /** Number of items checked, by type. */
  seen: Record<
    ('holds' | 'roots' | 'records' | 'fetches' | 'accounts' | 'blocks' | 'files') | ('placements' | 'pins' | 'samples'),
    number
  >
  /** Number of findings by kind, without zeros. */
  found: Partial<Record<FindingKind, number>>
  /** The first thousand. */
  findings: Finding[]
}
