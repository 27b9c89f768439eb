export { type ErrorCode, HoldfastError, isHoldfastError } from '../../src/domain/errors.ts'
export type { Account, Keys, NewKeyOptions, UploadTokenOptions } from './account.ts'
export type {
  Allocation,
  Car,
  CarRoot,
  Cluster,
  DagFile,
  Delivery,
  Directory,
  Key,
  ListedUpload,
  NewKey,
  NewSession,
  NewWebhook,
  Page,
  Pin,
  PinState,
  Plan,
  Removed,
  Renamed,
  SecondFactorAsked,
  SecondFactorSetup,
  SessionRow,
  Status,
  Upload,
  UploadGrant,
  UploadPage,
  Usage,
  User,
  Webhook,
} from './answers.ts'
export { type ClientOptions, HoldfastClient } from './client.ts'
export type { JsonObject, RequestOptions } from './connection.ts'
export type { Content, ContentFile, ReadOptions } from './content.ts'
export type { CarOptions, DirectoryFile, Files, SendOptions, TargetOptions, UploadOptions } from './files.ts'
export type { ListOptions, PinOptions, Pins, WaitOptions } from './pins.ts'
export type { BodyPart, RequestBody, SizedSource, UploadSource } from './request-body.ts'
export type { SecondFactor, SecondFactorProof } from './second-factor.ts'
export type { PageOptions, Sessions } from './sessions.ts'
export type { Webhooks } from './webhooks.ts'
