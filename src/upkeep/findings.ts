import type { RecordProblem } from '../catalogue/reconciliation.ts'
import { otherVisibility, type Visibility } from '../domain/visibility.ts'
import type { ClusterProblem } from './cluster-survey.ts'

/** Kinds of finding, including those of {@link RecordProblem} and {@link ClusterProblem}. */
export type FindingKind =
  | RecordProblem
  /**
   * A record that database and node called differently after a set-back. It is private until its visibility is set. The
   * detail has both sides.
   */
  | 'record-disputed'
  /** A hold whose record or fetch no longer exists. */
  | 'hold-unwanted'
  /** A root that nothing needs. A dry run also reports roots that the repair of a `record-unheld` would hold. */
  | 'root-unwanted'
  /** A fetch that no record waits for. */
  | 'fetch-unwanted'
  /** An account whose stored counts of pins and bytes are wrong. */
  | 'usage-wrong'
  /** A block whose bytes are missing or have the wrong length. */
  | 'block-lost'
  /** A block file that has no row in the ledger. */
  | 'file-unknown'
  | ClusterProblem

/** An inconsistency that a reconciliation has found. */
export interface Finding {
  kind: FindingKind
  /** Id of a record, hold, account or cluster, or the CID of a root or block. */
  what: string
  /** Explanation for people. */
  detail: string | null
}

/** Options of a reconciliation. */
export interface ReconcileOptions {
  /** Reports without repairing. Default: false. */
  dryRun?: boolean | undefined
  /**
   * Continues even if more than 1 % of the holds, of the roots, or of a cluster's pins would be released. Default:
   * false.
   */
  force?: boolean | undefined
  signal?: AbortSignal | undefined
  /** Checks only external clusters. Default: false. */
  onlyClusters?: boolean | undefined
  /** Called with the number of items checked so far and the number of findings. */
  onProgress?: ((progress: { seen: number; found: number }) => void) | undefined
}

/** Result of a reconciliation. */
export interface Reconciled {
  dryRun: boolean
  /** Number of checked items, by type. */
  seen: Record<
    ('holds' | 'roots' | 'records' | 'fetches' | 'accounts' | 'blocks' | 'files') | ('placements' | 'pins' | 'samples'),
    number
  >
  /** Number of findings by kind. Kinds without findings are absent. */
  found: Partial<Record<FindingKind, number>>
  /** The first 1,000 findings. */
  findings: Finding[]
}

/** @param catalogue the visibility in the catalogue; the ledger has the other one */
export function sidesOf(catalogue: Visibility): string {
  return `was ${catalogue} in the database, and ${otherVisibility(catalogue)} on its node`
}
