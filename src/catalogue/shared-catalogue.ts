import type { Settling } from '../concurrency/woken-work.ts'
import type { Clock } from '../domain/clock.ts'
import type { Sealing } from '../domain/sealing.ts'
import type { CatalogueHolds } from '../ledger/catalogue-holds.ts'
import type { OwnedDag } from '../ledger/whole-dag.ts'
import type { CoreCatalogue } from './catalogue.ts'
import type { Census } from './census.ts'
import type { Copies, CopySets } from './copies.ts'
import type { Fleet, NodeAddress, SharedPlaces } from './fleet.ts'
import type { LostContent } from './lost-content.ts'
import type { Offers, SetBack } from './offers.ts'
import type { RevisionRows } from './revision-rows.ts'
import type { AccessStores } from './rules/access-stores.ts'
import type { SharedSignIn } from './sign-in.ts'
import type { CatalogueTable } from './tables.ts'
import type { TakedownRows } from './takedown-rows.ts'

/** The catalogue of an engine in an external database, which other nodes may share. */
export interface SharedCatalogue {
  /** `number` distinguishes the backends of this node from the backends of other nodes. */
  node: { name: string; number: number }
  changes: CatalogueChanges
  past: CataloguePast
  /** Null for a node without an address. */
  fleet: Fleet | null
  access: AccessStores
  takedowns: TakedownRows
  revisions: RevisionRows
  places: SharedPlaces
  /**
   * @param ledger the ledger of this node, owned by the caller
   * @param external the numbers of the external backends
   */
  content(
    ledger: CatalogueHolds,
    external: ReadonlySet<number>,
  ): {
    content: SharedContent
    work: NodeWork
    offers: Offers
    /** Returns null until a cluster wants more than one copy or a node retires, and loads the code otherwise. */
    copies: () => Promise<Copies | null>
  }
  /** Returns the totals of the catalogue together with the totals of this node's ledger. */
  census(ledger: Census): Census
  /** @param sealing the sealing key, which must be the same on all nodes */
  signIn(sealing: Sealing): SharedSignIn
  versions: AccountVersions
  /**
   * Lets records be private, and keeps nodes of earlier versions out. Repeating it changes nothing.
   *
   * @throws HoldfastError `CONFLICT`, which names running nodes of an earlier version
   */
  enableVisibility(): Promise<void>
  close(): Promise<void>
}

/** The state of an account's lists and statuses. */
export interface AccountVersion {
  /** Differs after every change that any node has committed. */
  version: string
  /** When the first record expires, in ms since the epoch; null if no record expires. */
  nextExpiry: number | null
}

export interface AccountVersions {
  /** Returns the version of a time after the call. Calls that wait share one statement. */
  of(accountId: string): Promise<AccountVersion>
}

export type SharedContent = Pick<
  CoreCatalogue,
  'records' | 'bulk' | 'stops' | 'fetches' | 'files' | 'placements' | 'reconciliation'
>

export interface SharedOptions {
  url: string
  clock: Clock
  outages: OutageReport
  past: KeptPast
  /** Receives a message if the database is not the database that the node last used. */
  onProblem: (problem: string) => void
  /** Receives a message if this process may no longer run as its node. */
  onRefusal: (problem: string) => void
  /** Receives the ids of nodes that get private content without TLS, at the start. Not called if there are none. */
  onPlainTraffic?: (nodes: readonly string[]) => void
  /**
   * Opens the sealing key of this node and returns the name of the key. Throws if the name is not `expected`, which is
   * null for the first node.
   */
  openKey: (expected: string | null) => string
  /** Creates the sealed secret that all nodes share. Called after the key is opened. */
  newSecret: () => Uint8Array
  /** Null for a node that runs alone. */
  address: NodeAddress | null
  /** The node of each cluster, in the configuration of this node. */
  clusterNodes: Readonly<Record<string, string>>
  copySets: CopySets
  /** Ids of nodes that the sets may name although they have never joined. */
  expected: readonly string[]
  /** The tables of features. */
  tables: readonly CatalogueTable[]
}

/** Receives the start and the end of each outage of the database. */
export interface OutageReport {
  /** @param reason why the first connection was lost, or why the database refuses writes */
  began(reason: string): void
  /** @param outage its duration, and the number of connections and statements that failed in it */
  ended(outage: { ms: number; failures: number }): void
}

export interface NodeName {
  /** Null if the directory has no name yet. */
  known: string | null
  /** Names that the directory had as nodes that were given up. */
  former: readonly string[]
  /** True if the directory of a node that was given up may join as a new node. */
  isAsNew: boolean
  /** Gives the directory a permanent name, other than `known`. A second call returns the same name. */
  make(): string
}

/** Its unsettled work are the notices that have not arrived. */
export interface CatalogueChanges extends Settling {
  health: CatalogueHealth
  /** Returns a number that changes whenever credentials may have changed. */
  version(): number
  /** Calls `listener` with the name of a node that has new work; with null if a notification may have been lost. */
  notices(listener: (node: string | null) => void): void
  /**
   * Calls `listener` with the number of the newest change in {@link RevisionRows}: at each change, and twice a second.
   * After a new connection the number is null, because the database may have been set back.
   */
  revisions(listener: (newest: number | null) => void): void
}

export interface CatalogueHealth {
  /**
   * With `no-claim`, this process may not run as its node.
   * With `no-catalogue`, the database accepts no writes.
   * With `clock-skew`, the clocks of node and database differ by more than two seconds.
   */
  readonly problem: 'no-claim' | 'no-catalogue' | 'clock-skew' | null
  /** Milliseconds by which this node's clock is ahead of the database's clock; null before the first comparison. */
  readonly skewMs: number | null
}

/** Checks whether the database is still the one to which this node wrote, and not an older copy. */
export interface CataloguePast {
  /** The problem to show; null if there is none, or if an operator has accepted the database. */
  readonly problem: string | null
  /** Accepts the database in its current state, if `problem` is still the current problem. */
  accept(problem: string): void
  /** Stores a set-back that this node did not notice, so that this node asks its operator, too. */
  learn(setBack: SetBack): void
  /** Notes a change in the ledger before the node confirms it in the database. */
  confirm(revision: number): void
  /** Notes in the ledger that the node has all changes, and that later ones wait for it until it stops. */
  follow(): void
}

/** Marks that identify the history of a database. A restored copy or a promoted standby has different marks. */
export interface Past {
  /** Identifier of the database server's data directory. */
  system: string
  /** Increases with each point-in-time recovery and each promotion of a standby. */
  timeline: string
  /** Identifier of the database inside the server. */
  database: string
}

/** The history of the catalogue, as one node knows it. */
export interface KnownPast {
  past: Past
  /** Null if there is none, or if an operator has accepted the database. */
  problem: string | null
  /** Id of the last set-back that the node has seen in the database. */
  setBack: string | null
}

export interface KeptPast {
  get(): KnownPast | null
  /** @param lacksNothing true if a new set-back leaves no doubt about the owners of this node's roots */
  put(known: KnownPast, lacksNothing?: boolean): void
  /** Returns the newest holds in the ledger of this node. */
  newestHolds(): number[]
  isHeld(hold: number): boolean
  /** Returns which of the two was set back since the last start of the node; null for neither. */
  olderSide(noted: LastRun): 'catalogue' | 'ledger' | null
  /** Notes a start before the catalogue does. `known` is the last run in the catalogue. */
  begin(run: string, known: string | null): void
  /** Notes that the catalogue has a start. */
  joined(run: string): void
  /**
   * Stores whether the node has applied all changes of the catalogue, which keeps later ones for it. Returns whether the
   * value is new.
   */
  follow(isFollowing: boolean): boolean
  /** Returns the newest change in {@link RevisionRows} that the node has confirmed; 0 for none. */
  revision(): number
  confirm(revision: number): void
}

/** The last start of a node, as the catalogue knows it. */
export interface LastRun {
  run: string | null
  /** The newest change that the node has confirmed since; null if it has confirmed none, or runs 0.3.0. */
  confirmed: number | null
}

/** Work that other nodes leave to this node, even while this node is stopped. */
export interface NodeWork {
  readonly lost: LostContent
  /** Calls `listener` with each DAG that has lost its last hold on this node. */
  gone(listener: (dag: OwnedDag) => void): void
  /** Releases the holds of records that any node has removed, and the expired holds that no commit has used. */
  dropReleased(): Promise<void>
  /** Returns whether anything is left for {@link dropReleased} or {@link leftFetches}. */
  hasMore(): Promise<boolean>
  /** Returns some of the fetches that records on other nodes have stopped waiting for since this node's last check. */
  leftFetches(): Promise<LeftFetch[]>
  /** Marks a fetch as checked. Subtracts `leavings` from the stored number, which may have grown meanwhile. */
  markChecked(fetch: LeftFetch): Promise<void>
}

export interface LeftFetch {
  id: number
  /** Number of records that have stopped waiting for the fetch since the last check. */
  leavings: number
}
