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

/** The catalogue of an engine in a database outside its data directory, which other nodes may share. */
export interface SharedCatalogue {
  /** The name of the data directory, and the number that tells its backends from others'. */
  node: { name: string; number: number }
  changes: CatalogueChanges
  past: CataloguePast
  /** The other nodes; null for a node that is alone. */
  fleet: Fleet | null
  access: AccessStores
  takedowns: TakedownRows
  places: SharedPlaces
  /**
   * Makes the part that is about content.
   *
   * @param ledger of this node, which is the caller's
   * @param elsewhere the backends that have to be told what to keep
   */
  content(ledger: CatalogueHolds, elsewhere: ReadonlySet<number>): { content: SharedContent; work: NodeWork }
  /** @param ledger counts the rows of this node's ledger */
  census(ledger: Census): Census
  /** @param sealing the same on all nodes */
  signIn(sealing: Sealing): SharedSignIn
  close(): Promise<void>
}

export type SharedContent = Pick<Catalogue, 'records' | 'fetches' | 'files' | 'placements' | 'reconciliation'>

export interface SharedOptions {
  url: string
  clock: Clock
  /** Takes errors of connections that nobody is waiting for. */
  onError: (error: Error) => void
  past: KeptPast
  /** Takes the problem of a database that is not the one it was. */
  onProblem: (problem: string) => void
  /**
   * Opens the key that this node seals with, and returns its name. Refuses any other key than the expected one; the first
   * node expects null, and decides.
   */
  openKey: (expected: string | null) => string
  /** Makes the sealed secret of the fleet; called once the key is open. */
  newSecret: () => Uint8Array
  /** Null for a node that is alone. */
  address: NodeAddress | null
}

/** The name of a data directory. */
export interface NodeName {
  /** Null if it has none yet. */
  known: string | null
  /** Gives it one for ever; called once it is known that it may join, and may be called again. */
  make(): string
}

/** Changes by other nodes and commands, as the database tells of them. */
export interface CatalogueChanges {
  health: CatalogueHealth
  /** Returns another number than before once credentials may have changed. */
  version(): number
  /**
   * Calls `told` with the name of a node that has something to do, by what another node did; with null when that may
   * have been missed.
   */
  notices(told: (node: string | null) => void): void
  /** Calls `told` when something was taken down or lifted, on whichever node, or may have been. */
  takedowns(told: () => void): void
}

/** The state of the database, by the last look at it. */
export interface CatalogueHealth {
  /** `no-catalogue` if nothing can be written there now, `clock-skew` if the clocks are over two seconds apart. */
  readonly problem: 'no-catalogue' | 'clock-skew' | null
  /** Milliseconds by which this node's clock is ahead of the database's; null if it is not compared. */
  readonly skewMs: number | null
}

/** Whether the database is still the one that this node has committed to. */
export interface CataloguePast {
  /** Null if it is, or somebody has accepted that it is not. */
  readonly problem: string | null
  /** Takes the database as it is from now on. A problem that has changed meanwhile stays. */
  accept(problem: string): void
}

/** Marks that tell one past of a database from another: a restored copy, or a standby that takes over, has others. */
export interface Past {
  /** Of the server's data, made with them. */
  system: string
  /** Grows with each recovery to a point, and each promotion of a standby. */
  timeline: string
  /** Of the database in the server. */
  database: string
}

/** The past that a node has seen last, and the holds of its ledger. */
export interface KeptPast {
  get(): { past: Past; problem: string | null } | null
  put(past: Past, problem: string | null): void
  /** The numbers of holds by the newest roots that the catalogue has them for. */
  newestHolds(): number[]
  isHeld(hold: number): boolean
}

/** Work that other nodes leave to this one, while it runs or not: each piece once, and in the end. */
export interface NodeWork {
  /** Calls `told` with each DAG that this node holds no more, whoever has removed it. */
  gone(told: (dag: DagIdentity) => void): void
  /** Lets go of content that nobody needs any more, whoever removed it. */
  letGo(): Promise<void>
  /** Returns some of the fetches that records have left on other nodes, and that nobody has looked at here since. */
  leftFetches(): Promise<LeftFetch[]>
  /** Notes that somebody has looked who waits for a fetch. A record that left it meanwhile counts anew. */
  lookedAt(fetch: LeftFetch): Promise<void>
}

/** A fetch of this node that records have left on another one. */
export interface LeftFetch {
  id: number
  /** How often, as far as is known. */
  leavings: number
}
