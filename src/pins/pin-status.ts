import type { FetchRow, FetchTable } from '../catalogue/sqlite/fetch-table.ts'
import type { RecordRow, RecordTable } from '../catalogue/sqlite/record-table.ts'
import { cidOf, identityOf, parseCid } from '../domain/cid.ts'
import { HoldfastError, isHoldfastError } from '../domain/errors.ts'
import type { RootRow, RootTable } from '../ledger/root-table.ts'
import type { FetchScheduler } from './fetch-scheduler.ts'
import { presentRecord } from './pin-commit.ts'
import { type DagFile, type DirectoryOutcome, LISTED_FILES, type PinProgress } from './types.ts'

/** Looks at single records: how far each is, and what is in it. */
export class PinStatusView {
  readonly #records: RecordTable
  readonly #roots: RootTable
  readonly #fetches: FetchTable
  readonly #scheduler: FetchScheduler
  readonly #now: () => number

  constructor(
    tables: { records: RecordTable; roots: RootTable; fetches: FetchTable },
    scheduler: FetchScheduler,
    now: () => number,
  ) {
    this.#records = tables.records
    this.#roots = tables.roots
    this.#fetches = tables.fetches
    this.#scheduler = scheduler
    this.#now = now
  }

  /** An account's records of a content, newest first. @throws HoldfastError `PIN_NOT_FOUND` if there is none. */
  status(accountId: string, cid: string, cluster: string | null): PinProgress[] {
    const records = this.#find(accountId, cid).filter(record => cluster === null || record.clusterId === cluster)
    if (records.length === 0) throw noPin()
    return records.map(record => this.#progress(record))
  }

  /** The newest record of a content and the first of its files. @throws HoldfastError `PIN_NOT_FOUND` */
  dag(accountId: string, cid: string): DirectoryOutcome {
    const [record] = this.#find(accountId, cid)
    if (record === undefined) throw noPin()
    const root = record.rootId === null ? undefined : this.#roots.get(record.rootId)
    const files: DagFile[] = root === undefined ? [] : this.#roots.files(root.id, 0, LISTED_FILES).map(presentFile)
    return { record: presentRecord(record), created: false, files, totalFiles: root?.fileCount ?? 0 }
  }

  #progress(record: RecordRow): PinProgress {
    const root = record.rootId === null ? undefined : this.#roots.get(record.rootId)
    const fetch = record.fetchId === null ? undefined : this.#fetches.get(record.fetchId)
    const { blocks, bytes } = this.#soFar(root, fetch)
    return {
      record: presentRecord(record),
      statusAt: record.statusAt,
      reason: record.statusReason,
      blocks,
      bytes,
      attempts: fetch?.attempts ?? 0,
      nextAttemptAt: fetch?.nextAttemptAt ?? null,
      lastError: fetch?.lastError ?? (record.status === 'failed' ? record.statusReason : null),
      announcedAt: root?.announcedAt ?? null,
    }
  }

  #soFar(root: RootRow | undefined, fetch: FetchRow | undefined): { blocks: number; bytes: number } {
    if (root !== undefined) return { blocks: this.#roots.countBlocks(root.id), bytes: root.dagSize }
    if (fetch === undefined) return { blocks: 0, bytes: 0 }
    return this.#scheduler.attempt(fetch.id)?.totals ?? this.#roots.sumBlocks(fetch.rootId)
  }

  #find(accountId: string, cid: string): RecordRow[] {
    try {
      return this.#records.ofDag(accountId, identityOf(parseCid(cid)), this.#now())
    } catch (error) {
      if (isHoldfastError(error, 'INVALID_CID')) return []
      throw error
    }
  }
}

function presentFile(file: { path: string; codec: number; multihash: Uint8Array; size: number }): DagFile {
  return { path: file.path, cid: cidOf(file).toString(), size: file.size }
}

function noPin(): HoldfastError {
  return new HoldfastError('PIN_NOT_FOUND', 'no pin for this cid')
}
