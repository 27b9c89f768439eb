import type { Clock } from '../domain/clock.ts'
import type { Sealing } from '../domain/sealing.ts'
import type { DagIdentity } from '../ipld/cid.ts'
import type { CatalogueHolds } from '../ledger/catalogue-holds.ts'
import type { Catalogue } from './catalogue.ts'
import type { Census } from './census.ts'
import type { Fleet, NodeAddress, SharedPlaces } from './fleet.ts'
import type { AccessStores } from './rules/access-stores.ts'
import type { SharedSignIn } from './sign-in.ts'
import type { TakedownRows } from './takedown-rows.ts'

/** The catalogue of an engine in an external database. Other nodes may share the catalogue. */
export interface SharedCatalogue {
  /**
   * The name of the data directory. `number` distinguishes the backends of this node from the backends of other nodes.
   */
  node: { name: string; number: number }
  changes: CatalogueChanges
  past: CataloguePast
  /** The nodes that share the catalogue; null for a node without an address. */
  fleet: Fleet | null
  access: AccessStores
  takedowns: TakedownRows
  places: SharedPlaces
  /**
   * Creates the stores of records, fetches and placements.
   *
   * @param ledger the ledger of this node, owned by the caller
   * @param external the numbers of the external backends, which need placements
   */
  content(ledger: CatalogueHolds, external: ReadonlySet<number>): { content: SharedContent; work: NodeWork }
  /**
   * Returns the totals of the catalogue and the ledger.
   *
   * @param ledger the totals of this node's ledger
   */
  census(ledger: Census): Census
  /**
   * Returns the sign-in of the catalogue.
   *
   * @param sealing the sealing key, which must be the same on all nodes
   */
  signIn(sealing: Sealing): SharedSignIn
  close(): Promise<void>
}

export type SharedContent = Pick<Catalogue, 'records' | 'fetches' | 'files' | 'placements' | 'reconciliation'>

export interface SharedOptions {
  url: string
  clock: Clock
  /** Receives connection errors outside of any call. */
  onError: (error: Error) => void
  past: KeptPast
  /** Receives a message if the database is not the database that the node last used. */
  onProblem: (problem: string) => void
  /**
   * Opens the sealing key of this node and returns the name of the key. Throws if the name is not `expected`.
   * `expected` is null for the first node of the catalogue.
   */
  openKey: (expected: string | null) => string
  /** Creates the sealed secret that all nodes share. Called after the key is opened. */
  newSecret: () => Uint8Array
  /** The address of the node; null for a node that runs alone. */
  address: NodeAddress | null
}

/** The name of a data directory. */
export interface NodeName {
  /** The name; null if the directory has no name yet. */
  known: string | null
  /**
   * Gives the directory a permanent name and returns the name. Called when the node is allowed to join the catalogue. A
   * second call returns the same name.
   */
  make(): string
}

/** Notifications of changes by other nodes and commands. */
export interface CatalogueChanges {
  health: CatalogueHealth
  /** Returns a number that changes whenever credentials may have changed. */
  version(): number
  /**
   * Calls `listener` with the name of a node for which another node has left new work. Calls `listener` with null if a
   * notification may have been lost.
   */
  notices(listener: (node: string | null) => void): void
  /** Calls `listener` when any node has added or lifted a takedown, and when a notification may have been lost. */
  takedowns(listener: () => void): void
}

/** The state of the database at the last check. */
export interface CatalogueHealth {
  /**
   * The current problem; null if there is none.
   * With `no-catalogue`, the database accepts no writes.
   * With `clock-skew`, the clocks of node and database differ by more than two seconds.
   */
  readonly problem: 'no-catalogue' | 'clock-skew' | null
  /** Milliseconds by which this node's clock is ahead of the database's clock; null before the first comparison. */
  readonly skewMs: number | null
}

/** Checks whether the database is still the one to which this node wrote, and not an older copy. */
export interface CataloguePast {
  /** The problem to show; null if the database is the same, or if an operator has accepted the database. */
  readonly problem: string | null
  /** Accepts the database in its current state. Does nothing if the current problem is no longer `problem`. */
  accept(problem: string): void
}

/** Marks that identify the history of a database. A restored copy or a promoted standby has different marks. */
export interface Past {
  /** Identifier of the database server's data directory. */
  system: string
  /** Number that increases with each point-in-time recovery and each promotion of a standby. */
  timeline: string
  /** Identifier of the database inside the server. */
  database: string
}

/** The history of the database when this node last used it, and the holds in the ledger of the node. */
export interface KeptPast {
  get(): { past: Past; problem: string | null } | null
  put(past: Past, problem: string | null): void
  /** Returns the numbers of the newest holds in the ledger of this node. */
  newestHolds(): number[]
  isHeld(hold: number): boolean
}

/** Work that other nodes leave to this node, even while this node is stopped. Each piece of work is done once. */
export interface NodeWork {
  /** Calls `listener` with each DAG that has lost its last hold on this node. Any node may have removed the records. */
  gone(listener: (dag: DagIdentity) => void): void
  /** Releases the holds of removed records. Any node may have removed the records. */
  dropReleased(): Promise<void>
  /**
   * Returns some of the fetches for which records on other nodes have stopped waiting. Leaves out a fetch if this node
   * has checked it after the last record stopped waiting.
   */
  leftFetches(): Promise<LeftFetch[]>
  /**
   * Marks a fetch as checked. Subtracts `leavings` from the stored number, so that only records that stop waiting later
   * are counted.
   */
  markChecked(fetch: LeftFetch): Promise<void>
}

/** A fetch of this node that at least one record on another node has stopped waiting for. */
export interface LeftFetch {
  id: number
  /** Number of records that have stopped waiting for the fetch since the last check. */
  leavings: number
}
