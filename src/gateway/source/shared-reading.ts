import type { MessagePort } from 'node:worker_threads'
import type { MemoryShare } from '../../concurrency/capacity/memory-budget.ts'
import type { CompleteConfig } from '../../config/config.ts'

/**
 * Data that another thread needs to read content by the gateway's rules. Post it to that thread: both threads then
 * share its buffers.
 */
export interface ReadingData {
  /** Path of the database file. */
  readonly database: string
  /** True if the database lists the content that is being fetched. False if a remote catalogue lists that content. */
  readonly hasFetches: boolean
  /** The data directory is null for a remote backend. */
  readonly backends: ReadonlyArray<{ readonly id: number; readonly dataDir: string | null }>
  /** Ids of the backends to ask only if no other backend has the content. */
  readonly fallbackBackends: readonly number[]
  readonly takedowns: { readonly path: string; readonly published: BigInt64Array }
  /** Memory of a `KnownRevision`. */
  readonly revision: BigInt64Array
  readonly leases: SharedArrayBuffer
  readonly memory: MemoryShare
  readonly gateway: CompleteConfig['gateway']
  readonly trustedProxies: number
  /** True if a plan limits the traffic of its accounts. */
  readonly hasEgressCap: boolean
  /** True if other nodes of a fleet may have content that is not on this node. */
  readonly hasNodes: boolean
}

/** Resources that let one other thread read content. */
export interface SharedReading {
  /** Read-only data to post to the other thread. */
  readonly data: object
  /** Port to transfer to the other thread, which passes it to `openReading`. */
  readonly port: MessagePort
  /** True while a takedown waits for the thread, which has not ended its refused responses yet. */
  readonly isAwaited: boolean
  /** Call after the thread has ended. */
  end(): void
}
