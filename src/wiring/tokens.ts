import type { AccountService } from '../access/account-service.ts'
import type { Authenticator } from '../access/authenticator.ts'
import type { CredentialCache } from '../access/credential-cache.ts'
import type { KeyService } from '../access/key-service.ts'
import type { LoginService } from '../access/login-service.ts'
import type { PasswordHasher } from '../access/password-hasher.ts'
import type { PasswordService } from '../access/password-service.ts'
import type { PlanCatalogue } from '../access/plan-catalogue.ts'
import type { RequestLimits } from '../access/request-limits.ts'
import type { ScopePolicy } from '../access/scope-policy.ts'
import type { SecondFactor } from '../access/second-factor.ts'
import type { SessionRegistry } from '../access/session-registry.ts'
import type { SessionService } from '../access/session-service.ts'
import type { SessionTokens } from '../access/session-token.ts'
import type { SignUp } from '../access/sign-up.ts'
import type { Border } from '../api.ts'
import type { Backups } from '../backup/backups.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { sqliteAccess } from '../catalogue/sqlite/access-catalogue.ts'
import type { ClusterBackend } from '../clusters/cluster-backend.ts'
import type { ClusterRegistry } from '../clusters/cluster-registry.ts'
import type { StagingBackend } from '../clusters/staging-backend.ts'
import type { BlockAudit } from '../content/block-audit.ts'
import type { BlockStore } from '../content/block-store.ts'
import type { Collector } from '../content/collector.ts'
import type { DiskReserve } from '../content/disk-reserve.ts'
import type { Leases } from '../content/leases.ts'
import type { LiveContent } from '../content/live-content.ts'
import type { Verifier } from '../content/verifier.ts'
import type { Activity } from '../domain/activity.ts'
import type { Clock } from '../domain/clock.ts'
import type { Emitter } from '../domain/emitter.ts'
import type { Logger } from '../domain/logger.ts'
import type { Metrics } from '../domain/metrics.ts'
import type { Sealing } from '../domain/sealing.ts'
import type { Takedowns } from '../gateway/policy/takedowns.ts'
import type { ContentReader } from '../gateway/reader/content-reader.ts'
import type { RootOpener } from '../gateway/source/root-opener.ts'
import type { ApiHandler } from '../http/types.ts'
import type { BlockTable } from '../ledger/block-table.ts'
import type { HeldRoots } from '../ledger/held-roots.ts'
import type { Holds } from '../ledger/holds.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { RootTable } from '../ledger/root-table.ts'
import type { VerificationTable } from '../ledger/verification-table.ts'
import type { BlockFetcher } from '../network/block-fetcher.ts'
import type { AccountRemoval } from '../pins/account-removal.ts'
import type { CarImporter } from '../pins/car-importer.ts'
import type { ExpirySweeper } from '../pins/expiry-sweeper.ts'
import type { FetchScheduler } from '../pins/fetch-scheduler.ts'
import type { NetworkPinner } from '../pins/network-pinner.ts'
import type { PinChanges } from '../pins/pin-changes.ts'
import type { PinCommit } from '../pins/pin-commit.ts'
import type { PinList } from '../pins/pin-list.ts'
import type { PinService } from '../pins/pin-service.ts'
import type { PinStatusView } from '../pins/pin-status.ts'
import type { Pinner } from '../pins/pinner.ts'
import type { PlacementRunner } from '../pins/placement-runner.ts'
import type { Statistics } from '../pins/statistics.ts'
import type { Timelock } from '../pins/timelock.ts'
import type { EngineEvents } from '../pins/types.ts'
import type { UploadStaging } from '../pins/upload-staging.ts'
import type { Uploader } from '../pins/uploader.ts'
import type { Database } from '../storage/database.ts'
import type { WriteQueue } from '../storage/write-queue.ts'
import type { LostBlocks } from '../upkeep/lost-blocks.ts'
import type { Reconciler } from '../upkeep/reconciler.ts'
import type { ScheduledVerification } from '../upkeep/scheduled-verification.ts'
import { token } from './container.ts'

/** The names of all parts, in the order of the layers. */
export const T = {
  clock: token<Clock>('clock'),
  logger: token<Logger>('logger'),
  metrics: token<Metrics>('metrics'),
  activity: token<Activity>('activity'),
  events: token<Emitter<EngineEvents>>('events'),

  /** With the data directory's own key. */
  sealing: token<Sealing>('sealing'),
  database: token<Database>('database'),
  writes: token<WriteQueue>('writes'),
  /** The catalogue of accounts, keys, sessions and second factors. */
  access: token<ReturnType<typeof sqliteAccess>>('access'),
  blockTable: token<BlockTable>('blockTable'),
  rootTable: token<RootTable>('rootTable'),
  holds: token<Holds>('holds'),
  heldRoots: token<HeldRoots>('heldRoots'),
  content: token<Pick<Catalogue, 'records' | 'fetches' | 'files' | 'placements' | 'reconciliation'>>('content'),

  ledger: token<Ledger>('ledger'),
  leases: token<Leases>('leases'),
  blockStores: token<ReadonlyMap<number, BlockStore>>('blockStores'),
  /** Of the disks of the backends, by backend id. */
  reserves: token<ReadonlyMap<number, DiskReserve>>('reserves'),
  collector: token<Collector>('collector'),
  liveContent: token<LiveContent>('liveContent'),
  verifier: token<Verifier>('verifier'),
  blockAudit: token<BlockAudit>('blockAudit'),
  lostBlocks: token<LostBlocks>('lostBlocks'),
  verificationTable: token<VerificationTable>('verificationTable'),
  /** Null if none is wanted. */
  verification: token<ScheduledVerification | null>('verification'),
  reconciler: token<Reconciler>('reconciler'),
  backups: token<Backups>('backups'),

  /** What the node asks others with, if networking is on. */
  network: token<{ fetcher: BlockFetcher | null; peerCount(): number }>('network'),

  plans: token<PlanCatalogue>('plans'),
  credentialCache: token<CredentialCache>('credentialCache'),
  scopes: token<ScopePolicy>('scopes'),
  accounts: token<AccountService>('accounts'),
  keys: token<KeyService>('keys'),
  hasher: token<PasswordHasher>('hasher'),
  secondFactor: token<SecondFactor>('secondFactor'),
  sessionTokens: token<SessionTokens>('sessionTokens'),
  sessions: token<SessionService>('sessions'),
  sessionRegistry: token<SessionRegistry>('sessionRegistry'),
  passwords: token<PasswordService>('passwords'),
  logins: token<LoginService>('logins'),
  signUp: token<SignUp>('signUp'),
  authenticator: token<Authenticator>('authenticator'),
  limits: token<RequestLimits>('limits'),

  backends: token<ReadonlyMap<number, StagingBackend>>('backends'),
  clusters: token<ClusterRegistry>('clusters'),
  /** Backends that are elsewhere, by number. */
  remoteBackends: token<ReadonlyMap<number, ClusterBackend>>('remoteBackends'),
  placementRunner: token<PlacementRunner>('placementRunner'),

  pinChanges: token<PinChanges>('pinChanges'),
  timelock: token<Timelock>('timelock'),
  pinCommit: token<PinCommit>('pinCommit'),
  uploadStaging: token<UploadStaging>('uploadStaging'),
  uploader: token<Uploader>('uploader'),
  carImporter: token<CarImporter>('carImporter'),
  fetchScheduler: token<FetchScheduler>('fetchScheduler'),
  networkPinner: token<NetworkPinner>('networkPinner'),
  pinStatus: token<PinStatusView>('pinStatus'),
  pinner: token<Pinner>('pinner'),
  pinList: token<PinList>('pinList'),
  sweeper: token<ExpirySweeper>('sweeper'),
  pins: token<PinService>('pins'),
  accountRemoval: token<AccountRemoval>('accountRemoval'),
  statistics: token<Statistics>('statistics'),

  api: token<ApiHandler>('api'),
  gateway: token<ApiHandler>('gateway'),
  takedowns: token<Takedowns>('takedowns'),
  rootOpener: token<RootOpener>('rootOpener'),
  contentReader: token<ContentReader>('contentReader'),
  border: token<Border>('border'),
}
