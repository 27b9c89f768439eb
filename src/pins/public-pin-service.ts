import type { PinProgress, StatusRequest } from './fetch/pin-progress.ts'
import type {
  ByteSource,
  CarImportOptions,
  CarOutcome,
  CidOptions,
  CidRequest,
  DirectoryOutcome,
  ListItem,
  ListPage,
  ListQuery,
  PinOutcome,
  PinRecord,
  PinRequest,
  PinTarget,
  RecordRequest,
  RenameRequest,
  UploadOptions,
  Usage,
  VisibilityOutcome,
  VisibilityRequest,
  WholeListQuery,
} from './pin-types.ts'
import type { DirectoryEntries, DirectoryImportOptions, FileUploadOptions } from './upload-types.ts'

/**
 * Uploads, pins, lists and removes the content of accounts. A call without `account` uses the only account of the
 * engine, and creates the owner if there is no account.
 * @throws HoldfastError from every method: `VALIDATION` if no account is named and the engine has several, or for an
 * unknown option; `NOT_FOUND` for an unknown account; `UNAVAILABLE` after the engine has stopped
 */
export interface PinService {
  /**
   * Stores and pins a file. Resolves when the content and its record are durable. On failure nothing is stored.
   * @throws HoldfastError `FILE_TOO_LARGE`, `QUOTA_EXCEEDED`, `CLUSTER_NOT_ALLOWED`, `INVALID_TIMELOCK`,
   * `TIMELOCK_NOT_ALLOWED`, `VALIDATION`, `STORAGE_FULL`, `ABORTED`; errors of the source
   * @example const { record } = await engine.pins.upload('hello', { name: 'hello.txt' })
   */
  upload(content: ByteSource, options?: FileUploadOptions): Promise<PinOutcome>
  /**
   * Stores files as one directory and pins its root.
   * @throws HoldfastError errors of {@link PinService.upload}; `DIRECTORY_TOO_LARGE`; `INVALID_PATH`, which names the
   * path
   * @example const { files } = await engine.pins.uploadDirectory([{ kind: 'file', path: 'a.txt', content: 'a' }])
   */
  uploadDirectory(entries: DirectoryEntries, options?: UploadOptions): Promise<DirectoryOutcome>
  /**
   * Stores and pins a directory below an import root.
   * @throws HoldfastError errors of {@link PinService.uploadDirectory}
   * @example await engine.pins.importDirectory('site')
   */
  importDirectory(dirPath: string, options?: DirectoryImportOptions): Promise<DirectoryOutcome>
  /**
   * Stores the DAGs in a CAR and pins all of its roots, or none. The CAR may omit blocks of live records on this node.
   * @throws HoldfastError errors of {@link PinService.upload}; `DIRECTORY_TOO_LARGE` for the size of the CAR;
   * `INVALID_CID` for an unsupported codec or hash; `NOT_OFFERED` or `CONFLICT` if an incomplete root cannot be
   * accepted
   * @example const { roots } = await engine.pins.importCar(createReadStream('site.car'))
   */
  importCar(source: ByteSource, options?: CarImportOptions): Promise<CarOutcome>
  /**
   * Pins existing content by its CID.
   * @throws HoldfastError `INVALID_CID`, `CID_NOT_FOUND`, `QUOTA_EXCEEDED`; `CLUSTER_NOT_ALLOWED`, `INVALID_TIMELOCK`,
   * `TIMELOCK_NOT_ALLOWED`; `VALIDATION` for a name
   * @example const { record } = await engine.pins.pin(cid, { name: 'a dataset' })
   */
  pin(request: PinRequest): Promise<PinOutcome>
  /** Takes the CID by itself. */
  pin(cid: string, options?: Omit<PinRequest, 'cid'>): Promise<PinOutcome>
  /**
   * Removes an account's records of a CID, in one cluster or in all. Resolves when the removal is durable.
   * @throws HoldfastError `PIN_NOT_FOUND` if there is no record, or if the CID is malformed
   * @example await engine.pins.remove(cid)
   */
  remove(request: CidRequest): Promise<PinRecord[]>
  /** Takes the CID by itself. */
  remove(cid: string, options?: CidOptions): Promise<PinRecord[]>
  /**
   * Returns a record by its id.
   * @throws HoldfastError `NOT_FOUND`
   * @example const { status } = await engine.pins.get({ uploadId })
   */
  get(request: RecordRequest): Promise<PinRecord>
  /**
   * Removes a record by its id.
   * @throws HoldfastError `NOT_FOUND`
   * @example await engine.pins.discard({ uploadId })
   */
  discard(request: RecordRequest): Promise<PinRecord>
  /**
   * Returns a page of an account's records, by default newest first.
   * @throws HoldfastError `VALIDATION`, which names the field, `INVALID_CID` for a filter
   * @example const { items, total } = await engine.pins.list({ status: 'pinned', limit: 20 })
   */
  list(query?: ListQuery): Promise<ListPage>
  /**
   * Yields all items of a list. Records added or removed meanwhile do not repeat or hide other records.
   * @example for await (const { cid, name } of engine.pins.all({ type: 'file' })) console.log(cid, name)
   */
  all(query?: WholeListQuery): AsyncIterable<ListItem>
  /**
   * Returns the progress of an account's records of a CID, newest first.
   * @throws HoldfastError `PIN_NOT_FOUND`
   * @example for (const { blocks, bytes, lastError } of await engine.pins.status(cid)) console.log(blocks, bytes, lastError)
   */
  status(request: StatusRequest): Promise<PinProgress[]>
  /** Takes the CID by itself. */
  status(cid: string, options?: Omit<StatusRequest, 'cid'>): Promise<PinProgress[]>
  /**
   * Returns an account's newest record of a CID.
   * @throws HoldfastError `PIN_NOT_FOUND`
   * @example const { files, totalFiles } = await engine.pins.dag(cid)
   */
  dag(request: CidRequest): Promise<DirectoryOutcome>
  /** Takes the CID by itself. */
  dag(cid: string, options?: CidOptions): Promise<DirectoryOutcome>
  /**
   * Changes the name or the metadata of a record.
   * @throws HoldfastError `NOT_FOUND`, `VALIDATION`
   * @example await engine.pins.rename({ uploadId, name: 'report.pdf' })
   */
  rename(request: RenameRequest): Promise<PinRecord>
  /**
   * Makes a record public or private. Copies of public content that others have made cannot be recalled. Waits until all
   * nodes and gateway threads follow the change.
   * @throws HoldfastError `NOT_FOUND`, `VALIDATION`; `NOT_OFFERED` in a cluster that serves to everybody; `CONFLICT` if
   * the content has not arrived yet
   * @example await engine.pins.setVisibility({ uploadId, visibility: 'private' })
   */
  setVisibility(request: VisibilityRequest): Promise<VisibilityOutcome>
  /**
   * Returns the number of an account's records, and the storage that they use.
   * @example const { storedBytes } = await engine.pins.usage()
   */
  usage(account?: string): Promise<Usage>
  /**
   * Checks the cluster and the expiry of an upload. Call this before the body of a request is read.
   * @throws HoldfastError `CLUSTER_NOT_ALLOWED`, `INVALID_TIMELOCK`, `TIMELOCK_NOT_ALLOWED`
   * @example await engine.pins.checkTarget(account, { cluster: 'cl1-eu' })
   */
  checkTarget(account: string, target: PinTarget): Promise<void>
}
