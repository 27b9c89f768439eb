import type { Call, Service } from '../services/service.ts'

/**
 * A system that keeps content: a Holdfast node, or a Kubo or IPFS Cluster without one. `pids` are those of the node
 * alone.
 */
export interface Keeper extends Service {
  readonly name: string
  /** Process ids of the system behind the node. */
  readonly theirs: readonly number[]
  /** Resolves once all these roots are pinned durably, with the required number of copies. */
  untilPinned(roots: readonly string[]): Promise<void>
  /** Deletes the node's own copies of content that its cluster keeps. */
  forget(): Promise<void>
  read(path: string): Call
}
