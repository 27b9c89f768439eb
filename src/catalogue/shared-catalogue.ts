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

/** The catalogue of an engine in a database outside its data directory. Other nodes may share it. */
export interface SharedCatalogue {
  /** The name of the data directory, and the number that distinguishes its backends from those of other nodes. */
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
   * @param ledger this node's ledger, owned by the caller
   * @param external the numbers of external backends, which need placements
   */
  content(ledger: CatalogueHolds, external: ReadonlySet<number>): { content: SharedContent; work: NodeWork }
  /** @param ledger counts the rows of this node's ledger */
  census(ledger: Census): Census
  /** @param sealing the sealing key, which must be the same on all nodes */
  signIn(sealing: Sealing): SharedSignIn
  close(): Promise<void>
}

export type SharedContent = Pick<Catalogue, 'records' | 'fetches' | 'files' | 'placements' | 'reconciliation'>

export interface SharedOptions {
  url: string
  clock: Clock
  /** Receives connection errors that no call waits for. */
  onError: (error: Error) => void
  past: KeptPast
  /** Receives the problem if the database is not the one that the node last used. */
  onProblem: (problem: string) => void
  /**
   * Opens this node's sealing key and returns its name. Throws if its name is not `expected`, which is null for the
   * first node.
   */
  openKey: (expected: string | null) => string
  /** Creates the sealed secret that all nodes share. Called once the key is open. */
  newSecret: () => Uint8Array
  /** Null for a node that runs alone. */
  address: NodeAddress | null
}

/** The name of a data directory. */
export interface NodeName {
  /** Null if the directory has no name yet. */
  known: string | null
  /** Gives the directory a permanent name. Called once the node may join the catalogue. Idempotent. */
  make(): string
}

/** Notifications of changes by other nodes and commands. */
export interface CatalogueChanges {
  health: CatalogueHealth
  /** Returns a number that changes when credentials may have changed. */
  version(): number
  /**
   * Calls `listener` with the name of a node that has new work from another node; with null if a notification may have
   * been lost.
   */
  notices(listener: (node: string | null) => void): void
  /** Calls `listener` when a takedown was added or lifted on any node, or a notification may have been lost. */
  takedowns(listener: () => void): void
}

/** The state of the database at the last check. */
export interface CatalogueHealth {
  /** `no-catalogue`: the database accepts no writes now. `clock-skew`: the clocks differ by more than two seconds. */
  readonly problem: 'no-catalogue' | 'clock-skew' | null
  /** Milliseconds by which this node's clock is ahead of the database's; null before the first comparison. */
  readonly skewMs: number | null
}

/** The check that the database is still the one that this node has committed to, and not an older copy. */
export interface CataloguePast {
  /** The problem to show; null if the database is the same, or an operator has accepted it as it is. */
  readonly problem: string | null
  /** Accepts the database as it is. Does nothing if the problem has changed in the meantime. */
  accept(problem: string): void
}

/** Marks that identify one history of a database. A restored copy or a promoted standby has other marks. */
export interface Past {
  /** Identifier of the database server's data directory. */
  system: string
  /** Increases with each point-in-time recovery and each promotion of a standby. */
  timeline: string
  /** Identifier of the database inside the server. */
  database: string
}

/** The database history that a node saw last, and the holds of its ledger. */
export interface KeptPast {
  get(): { past: Past; problem: string | null } | null
  put(past: Past, problem: string | null): void
  /** Returns the numbers of the newest holds in the ledger of this node. */
  newestHolds(): number[]
  isHeld(hold: number): boolean
}

/** Work that other nodes leave to this one, even while it is down. Each piece is done once. */
export interface NodeWork {
  /** Calls `listener` with each DAG that this node no longer holds, whichever node removed its records. */
  gone(listener: (dag: DagIdentity) => void): void
  /** Releases the holds of removed records, whichever node removed them. */
  dropReleased(): Promise<void>
  /**
   * Returns some of the fetches that records on other nodes have stopped waiting for, and that this node has not
   * checked since.
   */
  leftFetches(): Promise<LeftFetch[]>
  /**
   * Notes that this node has checked whether any record still waits for a fetch. A record that leaves later counts
   * again.
   */
  markChecked(fetch: LeftFetch): Promise<void>
}

/** A fetch of this node that at least one record on another node has stopped waiting for. */
export interface LeftFetch {
  id: number
  /** Number of records that have stopped waiting for it since the last check. */
  leavings: number
}
