import type { Sealing } from '../domain/sealing.ts'
import type { CatalogueAdapter } from './catalogue-adapter.ts'
import type { CatalogueToMove, CopiedCatalogue, MoveProgress } from './moving.ts'
import type { AccessStores } from './rules/access-stores.ts'
import type { NodeName, SharedCatalogue, SharedOptions } from './shared-catalogue.ts'
import type { SharedSignIn } from './sign-in.ts'

/** A database system that stores catalogues. Internal to this package: the engine and the adapters change together. */
export interface CatalogueSystem {
  /**
   * Opens the catalogue of an engine, migrates its schema, and joins it: as the only node, or as one of several nodes
   * that have addresses. The caller closes it.
   *
   * @throws HoldfastError `CONFIG_INVALID` if the database is unsuitable or belongs to another data directory;
   * `DATA_DIR_IN_USE` if a copy of the data directory is in use; `UNAVAILABLE`, `DATA_DIR_NEWER`
   */
  open(options: SharedOptions, name: NodeName): Promise<SharedCatalogue>
  /**
   * Connects to a catalogue for a command, without migrating its schema. The caller closes it. @throws as {@link open}
   */
  connect(url: string): Promise<ConnectedCatalogue>
  /** Connects to the target database of a move, and migrates its schema. The caller closes it. */
  connectToMove(url: string): Promise<MoveTarget>
}

/** A connection to a catalogue without joining it as a node. */
interface CatalogueConnection {
  /** Returns whether the catalogue belongs to this data directory, or was copied for it. */
  isKnownTo(node: string): Promise<boolean>
  /** @param sealing the sealing key, which must be the same on all nodes */
  signIn(sealing: Sealing): SharedSignIn
  close(): Promise<void>
}

/** A catalogue as commands use it, whether engines run on it or not. */
export interface ConnectedCatalogue extends CatalogueConnection {
  /** @param node the name of the data directory */
  access(node: string): AccessStores
  sealed(): Promise<SealedSecrets>
  /** Deletes all sealed secrets, including the keys that sign sessions. The catalogue then accepts any sealing key. */
  forgetSealed(): Promise<void>
}

/** The accounts and webhooks with sealed secrets, which are useless without the sealing key. */
export interface SealedSecrets {
  /** Emails of accounts with a second factor. */
  secondFactors: string[]
  /** URLs of webhooks. */
  webhooks: string[]
  /** Number of data directories that use the key. */
  nodes: number
}

/** The target database of a move. */
export interface MoveTarget extends CatalogueConnection {
  /**
   * Copies a catalogue into the empty database in one transaction. Replaces an earlier copy for the same node if the
   * node has not switched to it yet.
   *
   * @throws HoldfastError `CONFLICT` if the database is not empty; `OUTCOME_UNKNOWN` if the connection is lost during
   * the commit
   */
  moveIn(source: CatalogueToMove, into: MoveInto): Promise<CopiedCatalogue>
  /** Agrees with the database on the sealing key. @param open as {@link SharedOptions.openKey} */
  agreeOnKey(open: (expected: string | null) => string): Promise<void>
  /** Switches the node to its copy. From then on the database belongs to the node. Idempotent. */
  takeUp(node: string): Promise<void>
}

/** The node that a catalogue is copied for, and the observer of the copy. */
export interface MoveInto {
  /** The name of the data directory, whose ledger has the holds. */
  node: string
  onProgress: (progress: MoveProgress) => void
}

/** Loads the modules of one of this package's adapters. */
export async function loadSystem(adapter: CatalogueAdapter): Promise<CatalogueSystem> {
  return (await adapter.load()) as CatalogueSystem
}
