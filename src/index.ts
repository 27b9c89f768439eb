/** Public API of the engine. */

export type { Accounts, NewAccount, PasswordLink } from './access/accounts/accounts.ts'
export type {
  AccountsHandle,
  AccountsOptions,
  ConnectedAccounts,
  ConnectOptions,
  SecondFactors,
  Sessions,
} from './access/accounts/accounts-handle.ts'
export type { ApiKey } from './access/keys/api-key.ts'
export type { KeyInput } from './access/keys/key-input.ts'
export type { Keys, NewKey } from './access/keys/keys.ts'
export type { Account, Credential, Principal, Scope, UploadGrant } from './access/principal.ts'
export { SCOPES } from './access/principal.ts'
export type { ScopeDecision } from './access/scope-policy.ts'
export { ScopePolicy } from './access/scope-policy.ts'
export type { Identity, IdentityProvider, SignInAdapter, StartedSignIn } from './access/sign-in/identity-provider.ts'
export type { SecondFactorSetup } from './access/sign-in/second-factor-check.ts'
export type {
  Border,
  ClusterRegistry,
  Engine,
  EngineOptions,
  HeliaNode,
  NodeDirectory,
  PinService,
  TakedownList,
} from './api.ts'
export type { BackupOptions, BackupOutcome } from './backup/back-up.ts'
export type { CheckBackupOptions, CheckedBackup } from './backup/check.ts'
export type { RestoreBackupOptions, RestoreOptions, RestoreOutcome } from './backup/restore.ts'
export type { BulkAction, BulkFailure, BulkPhase, UndoEnd } from './catalogue/bulk-changes.ts'
export type { CatalogueAdapter } from './catalogue/catalogue-adapter.ts'
export type { CopyCounts } from './catalogue/copies.ts'
export type { KnownNode, ListedNode, LostRecord, NodeAddress, NodeState } from './catalogue/fleet.ts'
export type { CopiedCatalogue, MovedTable, MoveProgress } from './catalogue/moving.ts'
export type { Page, PageRequest } from './catalogue/page.ts'
export type { RecordProblem } from './catalogue/reconciliation.ts'
export type { Session } from './catalogue/session-store.ts'
export type { AdapterMeans, BackendAdapter, Environment, OpenedPlace } from './clusters/backend-adapter.ts'
export type {
  BackendPeer,
  BackendStatus,
  ClusterBackend,
  MarkedPin,
  MayUnpin,
  PinJob,
} from './clusters/cluster-backend.ts'
export type { Cluster, Gateway } from './clusters/cluster-registry.ts'
export type { ClusterHealth } from './clusters/cluster-watch.ts'
export { currentWork, underName } from './concurrency/work.ts'
export type { BackendKind, BackendProblems } from './config/backend-kind.ts'
export { type ParsedConfig, parseConfig } from './config/config.ts'
export { configJsonSchema } from './config/config-json-schema.ts'
export type { EngineConfig, GatewayConfig, NetworkConfig, NodeConfig, OidcConfig } from './config/engine-options.ts'
export type { BlockSource } from './content/block-source.ts'
export type { Car, CarBlock } from './content/car/car-reader.ts'
export { readCar } from './content/car/car-reader.ts'
export type { Collected } from './content/collector.ts'
export { defaultReserve } from './content/disk-reserve.ts'
export type { DamagedBlock, Verified, VerifyOptions } from './content/verifier.ts'
export type { Clock } from './domain/clock.ts'
export type {
  BackendDefinition,
  ClusterDefinition,
  ClusterOptions,
  GatewayDefinition,
  KeptHere,
} from './domain/cluster.ts'
export type { ListenOptions } from './domain/emitter.ts'
export type { ErrorCode, HoldfastErrorOptions } from './domain/errors.ts'
export { HoldfastError, isHoldfastError } from './domain/errors.ts'
export type { DiskSpace, FileSystem, NewFile } from './domain/file-system.ts'
export type { Logger } from './domain/logger.ts'
export type { FinishedWork, Metrics, RequestObservation } from './domain/metrics.ts'
export type { PendingNode } from './domain/pending-nodes.ts'
export type { PinStatus } from './domain/pin-status.ts'
export type { Plan, PlanOptions, RateLimit } from './domain/plan.ts'
export type { RateDecision, RateWindow } from './domain/rate-limiter.ts'
export { RateLimiter } from './domain/rate-limiter.ts'
export type { Bytes } from './domain/sources.ts'
export { VERSION } from './domain/version.ts'
export type { WebStream } from './domain/web-stream.ts'
export { createEngine } from './engine.ts'
export type { BulkJobs, JobRequest, JobWait } from './features/bulk/bulk-jobs.ts' // feature: bulk
export type { BulkFilter, BulkJob, BulkRequest } from './features/bulk/bulk-service.ts' // feature: bulk
export type { EditRequest } from './features/bulk/edit-checks.ts' // feature: bulk
export type { BlockedStatus } from './gateway/policy/denylist.ts'
export type { Takedown, TakedownRequest } from './gateway/policy/takedowns.ts'
export type {
  Content,
  ContentAddress,
  ContentEntry,
  ContentRange,
  ContentStat,
  ContentStream,
  ReadContent,
  ReadRequest,
} from './gateway/reader/content-request.ts'
export type { SharedReading } from './gateway/source/shared-reading.ts'
export type { ApiHandler, ApiRequest, ApiResponse, BodyStream, Forwarded } from './http/api-messages.ts'
export { asSentByClient, PROXY_HEADERS } from './http/proxies.ts'
export type { DagIdentity } from './ipld/cid.ts'
export type { AnnouncementBacklog } from './pins/announcer.ts'
export type { Events } from './pins/events.ts'
export type { PinProgress, StatusRequest } from './pins/fetch/pin-progress.ts'
export type { EngineStats, StoredAmount } from './pins/lists/statistics.ts'
export type {
  Adoption,
  ByteSource,
  CarImportOptions,
  CarOutcome,
  CarRoot,
  CidOptions,
  CidRequest,
  DagFile,
  DirectoryOutcome,
  EngineEvents,
  ListItem,
  ListPage,
  ListQuery,
  NameMatch,
  PinNames,
  PinOutcome,
  PinRecord,
  PinRequest,
  PinTarget,
  PinType,
  RecordRequest,
  RenameRequest,
  UploadOptions,
  UploadToken,
  Usage,
  Visibility,
  VisibilityFilter,
  VisibilityOutcome,
  VisibilityRequest,
  WholeListQuery,
} from './pins/pin-types.ts'
export { Timelock } from './pins/removal/timelock.ts'
export type { Requesting } from './pins/requesting-account.ts'
export type {
  DirectoryEntries,
  DirectoryEntry,
  DirectoryImportOptions,
  FileUploadOptions,
  NewAttributes,
  UnixTime,
} from './pins/upload-types.ts'
export { compactDatabase } from './storage/compact-database.ts'
export { rehearseUpgrade, type UpgradeRehearsal } from './storage/rehearse-upgrade.ts'
export { readSchema, type SchemaVersion } from './storage/schema-version.ts'
export type { ClusterProblem } from './upkeep/cluster-survey.ts'
export type { Finding, FindingKind, Reconciled, ReconcileOptions } from './upkeep/findings.ts'
export { checkConfig } from './wiring/check-config.ts'
export {
  checkBackup,
  connectAccounts,
  moveCatalogue,
  replaceDataKey,
  restoreBackup,
  startRefusals,
} from './wiring/directory-calls.ts'
export { openReading } from './wiring/later-reading.ts'
export type { MoveCatalogueOptions, MovedCatalogue } from './wiring/move-catalogue.ts'
export { openAccounts } from './wiring/open-accounts.ts'
export type { Reading, ReadingMeans } from './wiring/open-reading.ts'
export type { LostSecrets, ReplaceDataKeyOptions } from './wiring/replace-data-key.ts'
