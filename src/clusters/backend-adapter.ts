import type { BackendKind } from '../config/backend-kind.ts'
import type { BlockSource } from '../content/block-source.ts'
import type { Clock } from '../domain/clock.ts'
import type { BackendDefinition } from '../domain/cluster.ts'
import type { ClusterBackend } from './cluster-backend.ts'

/** Variables of the environment, by name. */
export type Environment = Readonly<Record<string, string | undefined>>

/** A kind of system that keeps clusters, passed to an engine as `adapters: [kubo]`. Modules that talk to it load at `open`. */
export interface BackendAdapter<Definition extends BackendDefinition = BackendDefinition>
  extends BackendKind<Definition> {
  /**
   * Opens the place of a definition. The engine closes it.
   *
   * @param clusterId the first cluster of the place, for messages
   * @throws HoldfastError `CONFIG_INVALID` for a secret that cannot be read
   */
  open(clusterId: string, definition: Definition, means: AdapterMeans): Promise<OpenedPlace>
}

/** Means that an engine gives its adapters. */
export interface AdapterMeans {
  clock: Clock
  environment: Environment
}

/** An opened place that keeps clusters. */
export interface OpenedPlace {
  /**
   * Returns the backend of this node.
   *
   * @param mark marks this node's records in the place: unique to it, printable
   * @param addresses multiaddrs by which peers reach this node, each with its id; none if they do not
   */
  connect(mark: string, addresses: () => readonly string[]): ClusterBackend
  /** Checks every block; null if the place cannot be read, so that this node keeps all of the content, too. */
  reader: BlockSource | null
  /** Closes connections to the place. */
  close(): Promise<void>
}
