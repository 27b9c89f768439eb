export { type ErrorCode, HoldfastError, isHoldfastError } from '../../src/domain/errors.ts'
export type { Account, Keys, NewKeyOptions, UploadTokenOptions } from './account.ts'
export type {
  Allocation,
  Car,
  CarRoot,
  Cluster,
  DagFile,
  Directory,
  Key,
  ListedUpload,
  NewKey,
  Pin,
  PinState,
  Removed,
  Renamed,
  Status,
  Upload,
  UploadPage,
  Usage,
  User,
} from './answers.ts'
export { type ClientOptions, HoldfastClient } from './client.ts'
export type { JsonObject, RequestOptions } from './connection.ts'
export type { Content, ContentFile, ReadOptions } from './content.ts'
export type { CarOptions, DirectoryFile, Files, SendOptions, TargetOptions, UploadOptions } from './files.ts'
export type { ListOptions, PinOptions, Pins, WaitOptions } from './pins.ts'
export type { BodyPart, RequestBody, SizedSource, UploadSource } from './request-body.ts'
