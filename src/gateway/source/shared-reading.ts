import type { MessagePort } from 'node:worker_threads'
import type { SlotTable } from '../../concurrency/slot-rows.ts'
import type { CompleteConfig } from '../../config/config.ts'

/** What another thread needs to read by the gateway's rules. All of it can be cloned; memory stays shared. */
export interface ReadingData {
  /** File of the database. */
  readonly database: string
  /** Whether it says what is being fetched: a catalogue that is elsewhere is not read by threads. */
  readonly hasFetches: boolean
  /** Where the blocks of each backend are; null for those that are asked for. */
  readonly backends: ReadonlyArray<{ readonly id: number; readonly dataDir: string | null }>
  /** Backends that are asked only for what no other has. */
  readonly elsewhere: readonly number[]
  readonly takedowns: { readonly path: string; readonly revision: Int32Array }
  readonly leases: SharedArrayBuffer
  readonly slots: SlotTable
  readonly gateway: CompleteConfig['gateway']
  readonly trustedProxies: number
  /** Whether other nodes of a fleet may have what is not here. */
  readonly hasNodes: boolean
}

/** Reading that is shared with one other thread. */
export interface SharedReading {
  /** Can be cloned, and is nobody's to change. */
  readonly data: object
  /** To be transferred, and given to `openReading` with the data. */
  readonly port: MessagePort
  /** Takes back what the thread had: called once that has ended. */
  end(): void
}
