import type { Sealing } from '../domain/sealing.ts'
import type { CatalogueAdapter } from './catalogue-adapter.ts'
import type { CatalogueToMove, CopiedCatalogue, MoveProgress } from './moving.ts'
import type { AccessStores } from './rules/access-stores.ts'
import type { NodeName, SharedCatalogue, SharedOptions } from './shared-catalogue.ts'
import type { SharedSignIn } from './sign-in.ts'
import type { CatalogueTable, LostNames } from './tables.ts'

/** A database system that stores catalogues. The engine and the adapters change together. */
export interface CatalogueSystem {
  /**
   * Opens the catalogue of an engine, migrates its schema, and registers the engine as a node. The caller closes the
   * catalogue.
   *
   * @throws HoldfastError `CONFIG_INVALID` if the database is unsuitable or belongs to another data directory;
   *   `DATA_DIR_IN_USE` if a copy of the data directory is in use; `UNAVAILABLE` if the database is unreachable;
   *   `DATA_DIR_NEWER` if a newer version wrote the database
   */
  open(options: SharedOptions, name: NodeName): Promise<SharedCatalogue>
  /**
   * Checks whether {@link open} would refuse a data directory. Changes nothing and takes no lock, so it does not find
   * out whether a copy of the directory is in use.
   *
   * @throws HoldfastError with the same codes as {@link open}
   */
  check(options: OpenCheck, name: NodeName): Promise<void>
  /**
   * Connects to a catalogue for a command, without migrating its schema. The caller closes the connection.
   *
   * @throws HoldfastError with the same codes as {@link open}
   */
  connect(url: string): Promise<ConnectedCatalogue>
  /** Connects to the database that a move copies into, and migrates its schema. The caller closes the connection. */
  connectToMove(url: string): Promise<MoveTarget>
}

export interface OpenCheck extends Pick<SharedOptions, 'url' | 'address' | 'clusterNodes' | 'copySets' | 'expected'> {
  /** Throws if the sealing key of the directory is not the expected key, which is null if the database has none yet. */
  checkKey: (expected: string | null) => void
}

/** A connection that does not register a node. */
interface CatalogueConnection {
  /** Returns whether the catalogue belongs to this data directory, or is a copy made for this data directory. */
  isKnownTo(node: string): Promise<boolean>
  /** @param sealing the sealing key, which must be the same on all nodes */
  signIn(sealing: Sealing): SharedSignIn
  close(): Promise<void>
}

export interface ConnectedCatalogue extends CatalogueConnection {
  access(node: string): AccessStores
  sealed(tables: readonly CatalogueTable[]): Promise<SealedSecrets>
  /** Deletes all sealed secrets, including the keys that sign sessions. The catalogue then accepts any sealing key. */
  forgetSealed(tables: readonly CatalogueTable[]): Promise<void>
}

/** The names of what has sealed secrets. */
export interface SealedSecrets extends LostNames {
  /** Number of data directories that use the sealing key. */
  nodes: number
}

export interface MoveTarget extends CatalogueConnection {
  /**
   * Copies a catalogue into the empty database in one transaction. Replaces an earlier copy to which the node has not
   * switched yet.
   *
   * @throws HoldfastError `CONFLICT` if the database is not empty; `OUTCOME_UNKNOWN` if the connection is lost during
   *   the commit
   */
  moveIn(source: CatalogueToMove, into: MoveInto): Promise<CopiedCatalogue>
  /**
   * Checks that this data directory uses the sealing key of the database. If the database names no key yet, stores the
   * name of the data directory's key.
   */
  agreeOnKey(open: (expected: string | null) => string): Promise<void>
  /** Switches the node to its copy. Afterwards the database belongs to the node. A second call has no effect. */
  takeUp(node: string): Promise<void>
}

export interface MoveInto {
  node: string
  onProgress: (progress: MoveProgress) => void
}

export async function loadSystem(adapter: CatalogueAdapter): Promise<CatalogueSystem> {
  return (await adapter.load()) as CatalogueSystem
}
