import type { CID } from 'multiformats/cid'
import type { Fetches, FetchRow } from '../../catalogue/fetches.ts'
import type { Files, ListedContent } from '../../catalogue/listed-files.ts'
import type { Placements } from '../../catalogue/placements.ts'
import type { RecordRow, Records } from '../../catalogue/records.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import { checkNew, cidOf, type DagIdentity, identityOf, parseCid } from '../../ipld/cid.ts'
import type { FetchScheduler } from '../fetch/fetch-scheduler.ts'
import type { PinProgress } from '../fetch/pin-progress.ts'
import { type DagFile, type DirectoryOutcome, LISTED_FILES } from '../pin-types.ts'
import { presentRecord } from '../present-record.ts'

const LISTED_RECORDS = 1_000

/** Returns null if the backend is not external or does not answer. */
type PeersOf = (backendId: number, dag: DagIdentity) => Promise<PinProgress['peers']>

/** Reads the progress of single records and the files below them. */
export class PinStatusView {
  readonly #records: Records
  readonly #files: Files
  readonly #fetches: Fetches
  readonly #scheduler: FetchScheduler
  readonly #clock: Clock
  readonly #placements: Placements
  readonly #backendOf: (clusterId: string) => number | null
  readonly #peersOf: PeersOf

  constructor(
    catalogue: { records: Records; files: Files; fetches: Fetches; placements: Placements },
    scheduler: FetchScheduler,
    clock: Clock,
    /** Returns null if another node keeps the cluster. */
    backendOf: (clusterId: string) => number | null,
    peersOf: PeersOf,
  ) {
    this.#peersOf = peersOf
    this.#placements = catalogue.placements
    this.#backendOf = backendOf
    this.#records = catalogue.records
    this.#files = catalogue.files
    this.#fetches = catalogue.fetches
    this.#scheduler = scheduler
    this.#clock = clock
  }

  /**
   * Returns the progress of an account's records of a CID, newest first.
   * @throws HoldfastError `PIN_NOT_FOUND` if there is no record; `INVALID_CID` if this node does not accept such CIDs
   */
  async status(
    accountId: string,
    { cid, cluster, peers }: { cid: string; cluster: string | null; peers: boolean },
  ): Promise<PinProgress[]> {
    const records = await this.#find(accountId, cid, cluster, LISTED_RECORDS)
    if (records.length === 0) throw noPin()
    return Promise.all(records.map(record => this.#progress(record, peers)))
  }

  /** Returns the newest record of a CID and its first files. @throws HoldfastError `PIN_NOT_FOUND`, `INVALID_CID` */
  async dag(accountId: string, cid: string): Promise<DirectoryOutcome> {
    const [record] = await this.#find(accountId, cid, null, 1)
    if (record === undefined) throw noPin()
    const { rootId } = record
    const content = rootId === null ? undefined : await this.#files.content(rootId)
    const files = rootId === null ? [] : await this.#files.page(rootId, 0, LISTED_FILES)
    const totalFiles = content?.fileCount ?? 0
    return { record: presentRecord(record), created: false, files: files.map(presentFile), totalFiles }
  }

  async #progress(record: RecordRow, withPeers: boolean): Promise<PinProgress> {
    const content = record.rootId === null ? undefined : await this.#files.content(record.rootId)
    const fetch = record.fetchId === null ? undefined : await this.#fetches.get(record.fetchId)
    const { blocks, bytes } = this.#soFar(content, fetch)
    const job = fetch ?? (await this.#placementOf(record))
    const backendId = withPeers && record.rootId !== null ? this.#backendOf(record.clusterId) : null
    return {
      record: presentRecord(record),
      statusAt: record.statusAt,
      reason: record.statusReason,
      blocks,
      bytes,
      attempts: job?.attempts ?? 0,
      nextAttemptAt: job?.nextAttemptAt ?? null,
      lastError: job?.lastError ?? (record.status === 'failed' ? record.statusReason : null),
      announcedAt: content?.announcedAt ?? null,
      peers: backendId === null ? null : await this.#peersOf(backendId, record),
    }
  }

  async #placementOf(record: RecordRow) {
    if (record.rootId === null || record.status !== 'pinning') return undefined
    const placement = await this.#placements.ofRoot(record.rootId)
    return placement && { ...placement, nextAttemptAt: placement.dueAt }
  }

  #soFar(content: ListedContent | undefined, fetch: FetchRow | undefined): { blocks: number; bytes: number } {
    if (content !== undefined) return { blocks: content.blocks, bytes: content.dagSize }
    if (fetch === undefined) return { blocks: 0, bytes: 0 }
    return this.#scheduler.attempt(fetch.id)?.totals ?? fetch
  }

  async #find(accountId: string, cid: string, clusterId: string | null, limit: number): Promise<RecordRow[]> {
    const parsed = readCid(cid)
    if (parsed === null) return []
    const dag = identityOf(parsed)
    const records = await this.#records.ofDag({ accountId, dag, clusterId, now: this.#clock.now(), limit })
    if (records.length === 0) checkNew(parsed, 'cid')
    return records
  }
}

function presentFile(file: { path: string; codec: number; multihash: Uint8Array; size: number }): DagFile {
  return { path: file.path, cid: cidOf(file).toString(), size: file.size }
}

function readCid(text: string): CID | null {
  try {
    return parseCid(text)
  } catch (error) {
    if (isHoldfastError(error, 'INVALID_CID')) return null
    throw error
  }
}

function noPin(): HoldfastError {
  return new HoldfastError('PIN_NOT_FOUND', 'no pin for this cid: see the list of pins')
}
