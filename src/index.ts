/** Everything that Holdfast offers to other programs. */

export type { Accounts, NewAccount } from './access/accounts.ts'
export type { ApiKey } from './access/api-key.ts'
export type { KeyInput } from './access/key-input.ts'
export type { Keys, NewKey } from './access/keys.ts'
export type { Account, Scope } from './access/principal.ts'
export { SCOPES } from './access/principal.ts'
export { RateLimiter } from './access/rate-limiter.ts'
export { ScopePolicy } from './access/scope-policy.ts'
export type {
  Border,
  ClusterRegistry,
  Engine,
  Events,
  HeliaNode,
  PinService,
  TakedownList,
} from './api.ts'
export type { BackupOptions, BackupOutcome } from './backup/back-up.ts'
export type { RestoreOutcome } from './backup/restore.ts'
export type { BackendStatus, ClusterBackend, PinJob, Staging } from './clusters/cluster-backend.ts'
export type { Cluster, Gateway } from './clusters/cluster-registry.ts'
export type { BlockSource } from './content/block-source.ts'
export type { Car, CarBlock } from './content/car-reader.ts'
export { readCar } from './content/car-reader.ts'
export type { Clock } from './domain/clock.ts'
export { parseConfig } from './domain/config.ts'
export type { ErrorCode } from './domain/errors.ts'
export { HoldfastError, isHoldfastError } from './domain/errors.ts'
export type { DiskSpace, FileSystem, NewFile } from './domain/file-system.ts'
export type { Logger } from './domain/logger.ts'
export type { EngineConfig, EngineOptions } from './domain/options.ts'
export type { Plan, PlanOptions } from './domain/plan.ts'
export { VERSION } from './domain/version.ts'
export { currentWork, underName } from './domain/work.ts'
export { createEngine } from './engine.ts'
export { PROXY_HEADERS } from './http/proxies.ts'
export type { ApiHandler, ApiRequest, ApiResponse, BodyStream } from './http/types.ts'
export { Timelock } from './pins/timelock.ts'
export type {
  ByteSource,
  DirectoryEntries,
  DirectoryEntry,
  DirectoryOutcome,
  EngineEvents,
  ListPage,
  ListQuery,
  PinOutcome,
  PinRecord,
  PinRequest,
  UploadOptions,
} from './pins/types.ts'
export type { Finding, Reconciled, ReconcileOptions } from './upkeep/reconciler.ts'
export { openAccounts } from './wiring/open-accounts.ts'
export type { RestoreBackupOptions } from './wiring/restore-backup.ts'
export { restoreBackup } from './wiring/restore-backup.ts'
