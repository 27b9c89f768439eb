import type { MessagePort } from 'node:worker_threads'
import type { MemoryShare } from '../../concurrency/memory-budget.ts'
import type { SlotTable } from '../../concurrency/slot-rows.ts'
import type { CompleteConfig } from '../../config/config.ts'

/** Input of another thread that reads by the gateway's rules. It can be cloned, and its shared memory stays shared. */
export interface ReadingData {
  /** Path of the database file. */
  readonly database: string
  /** True if the database lists the content that is being fetched. Threads do not read a remote catalogue. */
  readonly hasFetches: boolean
  /** Data directory of each backend; null for a remote one. */
  readonly backends: ReadonlyArray<{ readonly id: number; readonly dataDir: string | null }>
  /** Backends to ask only for content that no other has. */
  readonly fallbackBackends: readonly number[]
  readonly takedowns: { readonly path: string; readonly published: BigInt64Array }
  readonly leases: SharedArrayBuffer
  readonly slots: SlotTable
  readonly memory: MemoryShare
  readonly gateway: CompleteConfig['gateway']
  readonly trustedProxies: number
  /** True if other nodes of a fleet may have missing content. */
  readonly hasNodes: boolean
}

/** Reading shared with one other thread. */
export interface SharedReading {
  /** Read-only data that can be cloned. */
  readonly data: object
  /** Port to transfer, for `openReading` in the other thread. */
  readonly port: MessagePort
  /** Frees the thread's resources. Call it once the thread has ended. */
  end(): void
}
