import type { Records } from '../catalogue/records.ts'
import type { Activity } from '../domain/activity.ts'
import { type DagIdentity, identityOf, parseCid } from '../domain/cid.ts'
import type { Clock } from '../domain/clock.ts'
import { isDiskFull } from '../domain/disk-full.ts'
import { HoldfastError, isHoldfastError } from '../domain/errors.ts'
import { nextTurn, turnSpent } from '../domain/turns.ts'
import type { CarImporter } from './car-importer.ts'
import type { ExpirySweeper } from './expiry-sweeper.ts'
import type { FetchScheduler } from './fetch-scheduler.ts'
import type { PinChanges } from './pin-changes.ts'
import type { PinCommit } from './pin-commit.ts'
import type { PinList } from './pin-list.ts'
import { checkedName } from './pin-names.ts'
import type { PinStatusView } from './pin-status.ts'
import type { Pinner } from './pinner.ts'
import type * as types from './types.ts'
import type { Uploader } from './uploader.ts'

/** What an account does with its content: upload, pin, list, remove. The facade that every surface goes through. */
export class PinService {
  readonly #uploader: Uploader
  readonly #carImporter: CarImporter
  readonly #pinner: Pinner
  readonly #lists: PinList
  readonly #commit: PinCommit
  readonly #sweeper: ExpirySweeper
  readonly #scheduler: FetchScheduler
  readonly #statuses: PinStatusView
  readonly #records: Records
  readonly #activity: Activity
  readonly #clock: Clock
  readonly #changes: PinChanges

  constructor(parts: {
    uploader: Uploader
    carImporter: CarImporter
    pinner: Pinner
    lists: PinList
    commit: PinCommit
    sweeper: ExpirySweeper
    scheduler: FetchScheduler
    statuses: PinStatusView
    records: Records
    activity: Activity
    clock: Clock
    changes: PinChanges
  }) {
    this.#uploader = parts.uploader
    this.#carImporter = parts.carImporter
    this.#pinner = parts.pinner
    this.#lists = parts.lists
    this.#commit = parts.commit
    this.#sweeper = parts.sweeper
    this.#scheduler = parts.scheduler
    this.#statuses = parts.statuses
    this.#records = parts.records
    this.#activity = parts.activity
    this.#clock = parts.clock
    this.#changes = parts.changes
  }

  /**
   * Stores one file and pins it. Resolves when everything is durable; on failure nothing of it stays.
   *
   * @throws HoldfastError `FILE_TOO_LARGE`, `QUOTA_EXCEEDED`, `CLUSTER_NOT_ALLOWED`, `INVALID_TIMELOCK`,
   * `TIMELOCK_NOT_ALLOWED`, `VALIDATION`, `NOT_FOUND` for the account, `STORAGE_FULL`, `ABORTED`; and what the
   * source throws.
   */
  upload(content: types.ByteSource, options: types.UploadOptions): Promise<types.PinOutcome> {
    return this.#making(options, own => this.#uploader.upload(content, own))
  }

  /**
   * Stores files as one directory and pins its root. Entries are read one after the other.
   *
   * @throws HoldfastError what {@link upload} throws, `DIRECTORY_TOO_LARGE`, and `INVALID_PATH` naming a path.
   */
  uploadDirectory(
    entries: AsyncIterable<types.DirectoryEntry>,
    options: types.UploadOptions,
  ): Promise<types.DirectoryOutcome> {
    return this.#making(options, own => this.#uploader.uploadDirectory(entries, own))
  }

  /**
   * Stores a directory that this machine has, below an import root, and pins it.
   *
   * @throws HoldfastError what {@link uploadDirectory} throws
   */
  importDirectory(dirPath: string, options: types.UploadOptions): Promise<types.DirectoryOutcome> {
    return this.#making(options, own => this.#uploader.importDirectory(dirPath, own))
  }

  /**
   * Stores the DAGs of a CAR and pins its roots, all or none. Blocks that no root needs are not kept; blocks that a
   * live record of this node needs may be missing in the CAR. Resolves when everything is durable.
   *
   * @throws HoldfastError what {@link upload} throws, `DIRECTORY_TOO_LARGE` for the size of the CAR, `INVALID_CID`
   * for what the node cannot walk or check; `NOT_OFFERED` or `CONFLICT` for a root that cannot be kept in part.
   */
  importCar(source: AsyncIterable<Uint8Array>, options: types.CarImportOptions): Promise<types.CarOutcome> {
    return this.#making(options, own => this.#carImporter.import(source, own))
  }

  /**
   * Pins content that exists, by its CID.
   *
   * @throws HoldfastError `INVALID_CID`, `CID_NOT_FOUND`, `QUOTA_EXCEEDED`, and those of target and names.
   */
  pin(request: types.PinRequest): Promise<types.PinOutcome> {
    return this.#making(request, own => this.#pinner.pin(own))
  }

  /**
   * Removes an account's records of a content, in one cluster or in all. Durable when it resolves.
   *
   * @throws HoldfastError `PIN_NOT_FOUND` if there is none, a malformed CID included.
   */
  async remove(request: { account: string; cid: string; cluster?: string | undefined }): Promise<types.PinRecord[]> {
    const dag = dagOf(request.cid)
    const clusterId = request.cluster?.trim() || null
    const now = this.#clock.now()
    const rows = dag === null ? [] : await this.#records.remove({ accountId: request.account, dag, clusterId, now })
    if (rows.length === 0) throw new HoldfastError('PIN_NOT_FOUND', 'no pin for this cid')
    for (const fetchId of new Set(rows.map(row => row.fetchId))) {
      if (fetchId !== null) await this.#scheduler.subscribersChanged(fetchId)
    }
    const removed: types.PinRecord[] = []
    for (const row of rows) {
      removed.push(this.#changes.removed(row, 'deleted'))
      if (turnSpent()) await nextTurn()
    }
    return removed
  }

  /** @throws HoldfastError `VALIDATION` for page or limit, `INVALID_CID` for a filter. */
  list(query: types.ListQuery): Promise<types.ListPage> {
    return this.#lists.list(query)
  }

  /**
   * How far each of an account's records of a content is, newest first.
   *
   * @throws HoldfastError `PIN_NOT_FOUND`
   */
  async status(request: { account: string; cid: string; cluster?: string | undefined }): Promise<types.PinProgress[]> {
    return this.#statuses.status(request.account, request.cid, request.cluster?.trim() || null)
  }

  /** An account's newest record of a content with its files. @throws HoldfastError `PIN_NOT_FOUND` */
  async dag(request: { account: string; cid: string }): Promise<types.DirectoryOutcome> {
    return this.#statuses.dag(request.account, request.cid)
  }

  /** Gives a record another name. @throws HoldfastError `NOT_FOUND`, `VALIDATION` */
  async rename(request: { account: string; uploadId: string; name: string }): Promise<string> {
    const name = checkedName('newName', request.name)
    if (name === null) throw new HoldfastError('VALIDATION', 'newName must not be empty')
    const { account: accountId, uploadId: id } = request
    const renamed = await this.#records.rename({ accountId, id, name, now: this.#clock.now() })
    if (!renamed) throw new HoldfastError('NOT_FOUND', 'no upload has this uploadId')
    return name
  }

  /** Live records of an account, and what they take of its storage. */
  async usage(accountId: string): Promise<types.Usage> {
    const { pins, storedBytes } = await this.#records.usage(accountId, this.#clock.now())
    return { pins, storedBytes }
  }

  /**
   * Checks what a request says of its target before its body is read.
   *
   * @throws HoldfastError `CLUSTER_NOT_ALLOWED`, `INVALID_TIMELOCK`, `TIMELOCK_NOT_ALLOWED`
   */
  async checkTarget(account: string, target: types.PinTarget): Promise<void> {
    this.#commit.decide(await this.#commit.requester(account), target)
  }

  /** Makes a record unless everything stops meanwhile; the sweeper has to know of every expiry. */
  async #making<R extends { signal?: AbortSignal | undefined }, T extends types.PinOutcome>(
    request: R,
    make: (request: R) => Promise<T>,
  ): Promise<T> {
    const outcome = await this.#activity
      .run(request.signal, signal => make({ ...request, signal }))
      .catch((error: unknown) => {
        if (!isDiskFull(error)) throw error
        throw new HoldfastError('STORAGE_FULL', 'there is no room left on the disk', { cause: error })
      })
    if (outcome.created && outcome.record.expiresAt !== null) this.#sweeper.wake()
    return outcome
  }
}

function dagOf(cid: string): DagIdentity | null {
  try {
    return identityOf(parseCid(cid))
  } catch (error) {
    if (isHoldfastError(error, 'INVALID_CID')) return null
    throw error
  }
}
