export { type ErrorCode, HoldfastError, isHoldfastError } from '../../src/domain/errors.ts'
export type { NewAttributes, UnixTime } from '../../src/domain/file-attributes.ts'
export type { PendingNode } from '../../src/domain/pending-nodes.ts'
export type { Account, Keys, NewKeyOptions, UploadTokenOptions } from './account.ts'
export type {
  AccountEgress,
  Key,
  NewKey,
  NewSession,
  Page,
  Plan,
  RateLimit,
  SecondFactorAsked,
  SecondFactorSetup,
  SessionRow,
  UploadGrant,
  Usage,
  User,
} from './account-answers.ts'
export type {
  Allocation,
  Car,
  CarRoot,
  Cluster,
  DagFile,
  Directory,
  ListedUpload,
  Pin,
  PinState,
  Removed,
  Renamed,
  Status,
  Upload,
  UploadPage,
} from './answers.ts'
export type { AuditEntry, AuditFilter } from './audit.ts' // feature: audit
export type { Edit, Job, JobFilter, Jobs, JobWaitOptions, OwnedJob } from './bulk.ts' // feature: bulk
export { type ClientOptions, HoldfastClient } from './client.ts'
export type { JsonObject, RequestOptions } from './connection.ts'
export type { Content, ContentBytes, ContentFile, ReadOptions } from './content.ts'
export type {
  CarOptions,
  DirectoryFile,
  DirectoryFolder,
  DirectoryImportOptions,
  Files,
  FileUploadOptions,
  SendOptions,
  TargetOptions,
  UploadOptions,
} from './files.ts'
export type { Owner } from './owner.ts'
export type {
  AccountPage,
  Amount,
  BackupState,
  Collected,
  Failure,
  HistorySample,
  KnownNode,
  LostRecord,
  ManagedAccount,
  NewTakedown,
  NodeHistory,
  NodePeers,
  NodeStats,
  Takedown,
  TakenDown,
  Verified,
} from './owner-answers.ts'
export type { AccountPageOptions, CollectOptions, NewAccountOptions, VerifyOptions } from './owner-options.ts'
export type { ListOptions, PinOptions, Pins, WaitOptions } from './pins.ts'
export type { BodyPart, RequestBody, SizedSource, UploadSource } from './request-body.ts'
export type { SecondFactor, SecondFactorProof } from './second-factor.ts'
export type { PageOptions, Sessions, SignInOptions, SignInProof } from './sessions.ts'
export type { Delivery, NewWebhook, OwnedDelivery, Webhook, Webhooks } from './webhooks.ts' // feature: webhooks
