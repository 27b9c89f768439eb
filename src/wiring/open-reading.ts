import type { Logger } from '../domain/logger.ts'
import type { Metrics } from '../domain/metrics.ts'
import type { ReadingData, SharedReading } from '../gateway/source/shared-reading.ts'
import type { ApiHandler } from '../http/api-messages.ts'
import { Database } from '../storage/database.ts'

/** Logger and metrics of a reader thread. */
export interface ReadingMeans {
  /** Default: discards all messages. */
  logger?: Logger
  metrics?: Pick<Metrics, 'request' | 'finished'>
}

/** Gateway of a reader thread. */
export interface Reading {
  /** Handles requests in the same way as `engine.ownGateway`. */
  readonly gateway: ApiHandler
  close(): void
}

/** Opens the engine's database to read. @throws HoldfastError `DATA_DIR_UNUSABLE` */
export function databaseOf({ data }: Pick<SharedReading, 'data'>): Database {
  return new Database((data as ReadingData).database, { readonly: true })
}
