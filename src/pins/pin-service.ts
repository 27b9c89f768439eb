import type { RecordRow, Records } from '../catalogue/records.ts'
import type { UndoPeriods } from '../catalogue/undo-periods.ts'
import type { Activity } from '../concurrency/activity.ts'
import { nextTurn, turnSpent } from '../concurrency/turns.ts'
import type { StagedFile } from '../content/unixfs/staged-files.ts'
import type { Clock } from '../domain/clock.ts'
import { isDiskFull } from '../domain/disk-trouble.ts'
import { HoldfastError } from '../domain/errors.ts'
import { cidOrNull, type DagIdentity, identityOf } from '../ipld/cid.ts'
import type { FetchScheduler } from './fetch/fetch-scheduler.ts'
import type { PinProgress, StatusRequest } from './fetch/pin-progress.ts'
import type { PinList } from './lists/pin-list.ts'
import type { PinStatusView } from './lists/pin-status-view.ts'
import type { PinChanges } from './pin-changes.ts'
import { checkedName, storedMeta } from './pin-names.ts'
import type { PinTargets } from './pin-targets.ts'
import type * as types from './pin-types.ts'
import type { Pinner } from './pinner.ts'
import { presentRecord } from './present-record.ts'
import type { ExpirySweeper } from './removal/expiry-sweeper.ts'
import type { Timelock } from './removal/timelock.ts'
import { accountOf, type OwnAccount, type Requesting, withAccount } from './requesting-account.ts'
import type { CarImporter } from './upload/car-importer.ts'
import type { Uploader } from './upload/uploader.ts'
import type { DirectoryEntries, DirectoryImportOptions, FileUploadOptions } from './upload-types.ts'
import type { VisibilityChanges } from './visibility-changes.ts'

/** Records of a deleted account that one step removes, and how many of them one transaction removes. */
const CLEARED = 50
const CLEARED_AT_ONCE = 10

export interface PinServiceParts {
  uploader: Uploader
  /** Loads the import of CAR files. */
  carImporter: { load: () => Promise<{ importer: CarImporter }> }
  pinner: Pinner
  /** Loads the lists. */
  lists: { load: () => Promise<{ lists: PinList }> }
  targets: PinTargets
  timelock: Timelock
  sweeper: ExpirySweeper
  scheduler: FetchScheduler
  statuses: PinStatusView
  records: Records
  bulk: Pick<UndoPeriods, 'keptBytes'>
  activity: Activity
  clock: Clock
  changes: PinChanges
  visibility: VisibilityChanges
  ownAccount: OwnAccount
}

/** Implements the interface `PinService` of `public-pin-service.ts`, which documents each method. */
export class PinService {
  readonly #parts: PinServiceParts

  constructor(parts: PinServiceParts) {
    this.#parts = parts
  }

  /**
   * @param handOver sends an upload for a cluster of another node to that node. Without `handOver`, such an upload is
   * refused.
   */
  upload<T extends object = never>(
    content: types.ByteSource,
    options: FileUploadOptions = {},
    handOver?: types.HandOver<Uint8Array, T>,
  ): Promise<types.PinOutcome | T> {
    return this.#making(options, async own => this.#told(await this.#parts.uploader.upload(content, own, handOver)))
  }

  uploadDirectory<T extends object = never>(
    entries: DirectoryEntries,
    options: types.UploadOptions = {},
    handOver?: types.HandOver<StagedFile, T>,
  ): Promise<types.DirectoryOutcome | T> {
    return this.#making(options, async own =>
      this.#told(await this.#parts.uploader.uploadDirectory(entries, own, handOver)),
    )
  }

  importDirectory(dirPath: string, options: DirectoryImportOptions = {}): Promise<types.DirectoryOutcome> {
    return this.#making(options, async own => this.#told(await this.#parts.uploader.importDirectory(dirPath, own)))
  }

  importCar<T extends object = never>(
    source: types.ByteSource,
    options: types.CarImportOptions = {},
    handOver?: types.HandOver<Uint8Array, T>,
  ): Promise<types.CarOutcome | T> {
    return this.#making(options, async own => {
      const { importer } = await this.#parts.carImporter.load()
      const made = await importer.import(source, own, handOver)
      if (!('roots' in made)) return made
      const roots: types.CarRoot[] = []
      for (const root of made.roots) roots.push(await this.#told(root))
      return { ...made, roots, record: roots[0]?.record ?? made.record }
    })
  }

  pin(given: string | types.PinRequest, options: Omit<types.PinRequest, 'cid'> = {}): Promise<types.PinOutcome> {
    return this.#making(requestOf(given, options), async own => this.#told(await this.#parts.pinner.pin(own)))
  }

  async remove(given: string | types.CidRequest, options: types.CidOptions = {}): Promise<types.PinRecord[]> {
    const request = requestOf(given, options)
    const accountId = await this.#accountOf(request)
    const dag = dagOf(request.cid)
    const clusterId = request.cluster?.trim() || null
    const now = this.#parts.clock.now()
    const rows = dag === null ? [] : await this.#parts.records.remove({ accountId, dag, clusterId, now })
    if (rows.length === 0) throw new HoldfastError('PIN_NOT_FOUND', 'no pin for this cid: see the list of pins')
    return this.#removed(rows)
  }

  /** Removes some records of an account, newest first. Returns false if the account has none. */
  async clear(accountId: string): Promise<boolean> {
    const { records, clock } = this.#parts
    const live = { accountId, multihash: null, hasExpiration: false, now: clock.now() }
    const { rows } = await records.walk(live, { after: null, limit: CLEARED })
    const removals: Promise<unknown>[] = []
    for (let i = 0; i < rows.length; i += CLEARED_AT_ONCE) {
      const ids = rows.slice(i, i + CLEARED_AT_ONCE).map(({ id }) => id)
      removals.push(records.discardAll(ids).then(removed => this.#removed(removed)))
    }
    await Promise.all(removals)
    return rows.length > 0
  }

  async #removed(rows: readonly RecordRow[]): Promise<types.PinRecord[]> {
    for (const fetchId of new Set(rows.map(row => row.fetchId))) {
      if (fetchId !== null) await this.#parts.scheduler.left(fetchId)
    }
    const removed: types.PinRecord[] = []
    for (const row of rows) {
      removed.push(this.#parts.changes.removed(row, 'deleted'))
      if (turnSpent()) await nextTurn()
    }
    return removed
  }

  async get(request: types.RecordRequest): Promise<types.PinRecord> {
    const accountId = await this.#accountOf(request)
    const row = typeof request.uploadId === 'string' ? await this.#parts.records.get(request.uploadId) : undefined
    if (row === undefined || row.accountId !== accountId) throw noUpload()
    if (this.#parts.timelock.hasPassed(row.expiresAt, this.#parts.clock.now())) throw noUpload()
    return presentRecord(row)
  }

  /** @throws HoldfastError `NOT_FOUND` if the account has no such record */
  async discard(request: types.RecordRequest): Promise<types.PinRecord> {
    const { uploadId } = await this.get(request)
    const row = await this.#parts.records.get(uploadId)
    if (row === undefined || !(await this.#parts.records.discard(uploadId))) throw noUpload()
    if (row.fetchId !== null) await this.#parts.scheduler.left(row.fetchId)
    return this.#parts.changes.removed(row, 'deleted')
  }

  async list(query: types.ListQuery = {}): Promise<types.ListPage> {
    const { lists } = await this.#parts.lists.load()
    return lists.list(await this.#owned(query))
  }

  async *all(query: types.WholeListQuery = {}): AsyncGenerator<types.ListItem, void, undefined> {
    const { lists } = await this.#parts.lists.load()
    yield* lists.all(await this.#owned(query))
  }

  async status(given: string | StatusRequest, options: Omit<StatusRequest, 'cid'> = {}): Promise<PinProgress[]> {
    const request = requestOf(given, options)
    const { cid, cluster, peers = false } = request
    return this.#parts.statuses.status(await this.#accountOf(request), { cid, cluster: cluster?.trim() || null, peers })
  }

  async dag(given: string | types.CidRequest, options: types.CidOptions = {}): Promise<types.DirectoryOutcome> {
    const request = requestOf(given, options)
    return this.#parts.statuses.dag(await this.#accountOf(request), request.cid)
  }

  async rename(request: types.RenameRequest): Promise<types.PinRecord> {
    const accountId = await this.#accountOf(request)
    const { uploadId: id, meta } = request
    const name = request.name === undefined ? undefined : checkedName('newName', request.name)
    if (name === null) throw new HoldfastError('VALIDATION', 'newName must not be empty')
    const values = { name, meta: meta === undefined ? undefined : storedMeta(meta) }
    if (!(await this.#parts.records.rename({ accountId, id, ...values, now: this.#parts.clock.now() })))
      throw noUpload()
    return this.get(request)
  }

  async setVisibility(request: types.VisibilityRequest): Promise<types.VisibilityOutcome> {
    const { visibility, pinner } = this.#parts
    const account = await this.#accountOf(request)
    const { clusterId } = await this.get(request)
    const record = await visibility.change({ ...request, account, clusterId })
    if (record === null) throw noUpload()
    const pending = await visibility.followed()
    return { ...(await pinner.withOthers(record)), pending }
  }

  /** Completes the record of an outcome. Another node has completed its own answer. */
  async #told<T extends object>(made: T): Promise<T> {
    const record = 'record' in made ? (made.record as types.PinRecord) : undefined
    if (record?.visibility !== 'private') return made
    return { ...made, record: await this.#parts.pinner.withOthers(record) }
  }

  async usage(...given: [account?: string]): Promise<types.Usage> {
    const owned = given.length === 0 ? {} : { account: given[0] }
    const { records, bulk, clock } = this.#parts
    const accountId = await this.#accountOf(owned)
    const [{ pins, storedBytes }, keptBytes] = await Promise.all([
      records.usage(accountId, clock.now()),
      bulk.keptBytes(accountId),
    ])
    return { pins, storedBytes, keptBytes }
  }

  async checkTarget(account: string, target: types.PinTarget): Promise<void> {
    this.#parts.targets.decide(await this.#parts.targets.requester(account), target)
  }

  /** Runs a call for which a stopping engine waits. If the new record has an expiry, wakes the sweeper. */
  async #making<R extends Requesting & { signal?: AbortSignal | undefined }, T extends object>(
    request: R,
    make: (request: R) => Promise<T>,
  ): Promise<T> {
    const outcome = await this.#parts.activity
      .run(request.signal, async signal => make({ ...(await this.#owned(request)), signal }))
      .catch((error: unknown) => {
        if (!isDiskFull(error)) throw error
        throw new HoldfastError('STORAGE_FULL', 'there is no room left on the disk', { cause: error })
      })
    if (isPin(outcome) && outcome.created && outcome.record.expiresAt !== null) this.#parts.sweeper.wake()
    return outcome
  }

  #owned<R extends Requesting>(request: R): Promise<R> {
    return withAccount(request, this.#parts.ownAccount)
  }

  #accountOf(request: Requesting): Promise<string> {
    return accountOf(request, this.#parts.ownAccount)
  }
}

/** Returns the request of a call that may give the CID by itself, before the other fields. */
function requestOf<R extends { cid: string }>(
  given: string | R,
  options: Omit<R, 'cid'>,
): R | (Omit<R, 'cid'> & { cid: string }) {
  const request = typeof given === 'string' ? { ...options, cid: given } : given
  if (typeof request?.cid === 'string') return request
  throw new HoldfastError('VALIDATION', 'cid is missing: pass a CID, or an object with the field cid')
}

function isPin(outcome: object): outcome is types.PinOutcome {
  return 'record' in outcome
}

function noUpload(): HoldfastError {
  return new HoldfastError('NOT_FOUND', 'no upload has this uploadId')
}

function dagOf(cid: string): DagIdentity | null {
  const parsed = cidOrNull(cid)
  return parsed === null ? null : identityOf(parsed)
}
