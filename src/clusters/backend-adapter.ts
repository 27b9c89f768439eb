import type { BackendKind } from '../config/backend-kind.ts'
import type { BlockSource } from '../content/block-source.ts'
import type { Clock } from '../domain/clock.ts'
import type { BackendDefinition } from '../domain/cluster.ts'
import type { ClusterBackend } from './cluster-backend.ts'

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>

/**
 * A kind of external system that keeps clusters, for the engine option `adapters`. The adapter's modules are imported
 * only when `open` is called.
 */
export interface BackendAdapter<Definition extends BackendDefinition = BackendDefinition>
  extends BackendKind<Definition> {
  /**
   * Opens an external system, which the engine closes.
   * @param clusterId first cluster on the system, for error messages
   * @throws HoldfastError `CONFIG_INVALID` for a secret that cannot be read
   */
  open(clusterId: string, definition: Definition, means: AdapterMeans): Promise<OpenedPlace>
}

/** Objects that an engine passes to its adapters. */
export interface AdapterMeans {
  clock: Clock
  environment: Environment
}

/** Open connection to an external system. */
export interface OpenedPlace {
  /**
   * Returns the backend through which this node uses the system.
   * @param mark unique, printable name that marks this node's pins on the system
   * @param addresses returns this node's multiaddrs, each with its peer id, or none if peers cannot reach the node
   */
  connect(mark: string, addresses: () => readonly string[]): ClusterBackend
  /** Checks the hashes of blocks. If null, this node keeps a copy of all content. */
  reader: BlockSource | null
  close(): Promise<void>
}
