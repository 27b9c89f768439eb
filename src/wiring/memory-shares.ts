import type { CompleteConfig } from '../config/config.ts'
import { CHUNK_BYTES } from '../content/block-threads.ts'

const MIB = 1024 ** 2
/** Beyond this, a longer memory of answers helps little. */
const MOST_REMEMBERED_BYTES = 8 * MIB

/** Memory in bytes that an idle process needs. Only memory above it grows with the number of clients. */
const OWN_BYTES = 128 * MIB
/** Memory in bytes of the process for each concurrent response of the gateway. */
const BYTES_PER_RESPONSE = MIB / 2
/** Memory in bytes of the process for each thread that writes blocks. The thread occupies about a tenth of it. */
const BYTES_PER_BLOCK_THREAD = 192 * MIB

export interface MemoryShares {
  /** Bytes of blocks that are being sent to clients. */
  answers: number
  /** Concurrent responses of the gateway. */
  responses: number
  /** Bytes of the database's page cache. */
  pages: number
  /** Bytes of the pages of all running searches. */
  searches: number
  /** Bytes of cached lists and statuses. */
  remembered: number
  /** Chunks of uploads. */
  chunks: number
  /** Bytes of the names in directories that are being uploaded. */
  names: number
  /** Threads that hash and write blocks. */
  blockThreads: number
}

/** Divides the memory of the process. Each part is bounded, so together they leave room for heaps and code. */
export function memoryShares(memoryBytes: number): MemoryShares {
  return {
    answers: Math.max(8 * MIB, (memoryBytes - OWN_BYTES) / 8),
    responses: Math.max(16, Math.floor(memoryBytes / BYTES_PER_RESPONSE)),
    pages: memoryBytes / 16,
    searches: memoryBytes / 16,
    remembered: Math.min(MOST_REMEMBERED_BYTES, memoryBytes / 64),
    chunks: Math.floor(memoryBytes / 32 / CHUNK_BYTES),
    names: memoryBytes / 8,
    blockThreads: Math.max(1, Math.floor(memoryBytes / BYTES_PER_BLOCK_THREAD)),
  }
}

/** Returns the settings of a gateway, with no more concurrent responses than its part of the memory allows. */
export function gatewayWithin(
  { responses }: MemoryShares,
  { gateway }: Pick<CompleteConfig, 'gateway'>,
): CompleteConfig['gateway'] {
  return { ...gateway, maxConcurrentRequests: Math.min(gateway.maxConcurrentRequests, responses) }
}
