import type { Sealing } from '../domain/sealing.ts'
import type { CatalogueAdapter } from './catalogue-adapter.ts'
import type { CatalogueToMove, CopiedCatalogue, MoveProgress } from './moving.ts'
import type { AccessStores } from './rules/access-stores.ts'
import type { NodeName, SharedCatalogue, SharedOptions } from './shared-catalogue.ts'
import type { SharedSignIn } from './sign-in.ts'

/** A database system that keeps catalogues. Internal: the engine and the adapters of this package change it together. */
export interface CatalogueSystem {
  /**
   * Opens the catalogue of an engine, brings its schema up, and joins it: as the only node, or as one of those that have
   * addresses. The caller closes it.
   *
   * @throws HoldfastError `CONFIG_INVALID` if the database does not suit or is another directory's; `DATA_DIR_IN_USE` if a
   * copy of the directory is in use; `UNAVAILABLE`, `DATA_DIR_NEWER`
   */
  open(options: SharedOptions, name: NodeName): Promise<SharedCatalogue>
  /** Connects to a catalogue beside its engines, which bring its schema up. The caller closes it. @throws as {@link open} */
  connect(url: string): Promise<ConnectedCatalogue>
  /** Connects to a database that a catalogue is moved into, and brings its schema up. The caller closes it. */
  connectToMove(url: string): Promise<MoveTarget>
}

/** A connection to a catalogue, without a node. */
interface CatalogueConnection {
  /** Whether the catalogue is that of the data directory, or was copied for it. */
  isKnownTo(node: string): Promise<boolean>
  /** @param sealing the same on all nodes */
  signIn(sealing: Sealing): SharedSignIn
  close(): Promise<void>
}

/** The catalogue of running or stopped engines, for commands. */
export interface ConnectedCatalogue extends CatalogueConnection {
  /** @param node the name of the data directory */
  access(node: string): AccessStores
  sealed(): Promise<SealedSecrets>
  /** Gives up all that is sealed, the keys of sessions included, and asks for no key any more. */
  forgetSealed(): Promise<void>
}

/** Secrets that are sealed with the key of the nodes, by their public names. */
export interface SealedSecrets {
  /** Emails of accounts that sign in with a second factor. */
  secondFactors: string[]
  /** Addresses that accounts have told of their records. */
  webhooks: string[]
  /** How many data directories seal and open with the key. */
  nodes: number
}

/** A database that a catalogue is moved into. */
export interface MoveTarget extends CatalogueConnection {
  /**
   * Copies a catalogue into the empty database, all of it or nothing. A copy for the same node that it has not taken up is
   * replaced.
   *
   * @throws HoldfastError `CONFLICT` if the database has something; `OUTCOME_UNKNOWN` if the connection was lost at the end
   */
  moveIn(source: CatalogueToMove, into: MoveInto): Promise<CopiedCatalogue>
  /** Agrees with the database on the key. @param open as {@link SharedOptions.openKey} */
  agreeOnKey(open: (expected: string | null) => string): Promise<void>
  /** Takes up a copy: the database is the node's from now on. Nothing happens if the node has done so. */
  takeUp(node: string): Promise<void>
}

/** The node that a catalogue is copied for. */
export interface MoveInto {
  /** The name of the data directory, whose ledger has the holds. */
  node: string
  onProgress: (progress: MoveProgress) => void
}

/** Loads the modules of an adapter, which this package has made. */
export async function loadSystem(adapter: CatalogueAdapter): Promise<CatalogueSystem> {
  return (await adapter.load()) as CatalogueSystem
}
