import type { CID } from 'multiformats/cid'
import { type FetchStore, OVER_QUOTA, type StatusChange } from '../catalogue/sqlite/fetch-store.ts'
import type { FetchRow } from '../catalogue/sqlite/fetch-table.ts'
import type { PinLimits } from '../catalogue/sqlite/pin-store.ts'
import type { RecordTable } from '../catalogue/sqlite/record-table.ts'
import type { ClusterBackend } from '../clusters/cluster-backend.ts'
import { type FetchBounds, type FetchTotals, fetchDag, type SharedBlocks } from '../content/dag-fetch.ts'
import type { StagedDag } from '../content/staged-dag.ts'
import { cidOf } from '../domain/cid.ts'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../domain/errors.ts'
import type { FetchSession } from '../network/block-fetcher.ts'
import type { WriteQueue } from '../storage/write-queue.ts'
import { listContent } from './content-listing.ts'

export interface FetchTimes {
  /** Without a block for this long an attempt has stalled. */
  stallMs: number
  /** An attempt takes this long at most. */
  attemptMs: number
}

export interface AttemptParts {
  /** What the plan of an account allows. */
  limitsOf: (accountId: string) => PinLimits
  records: RecordTable
  store: FetchStore
  queue: WriteQueue
  clock: Clock
  shared: SharedBlocks
  bounds: FetchBounds
  times: FetchTimes
  /** Bytes that an account's other fetches have brought, though no record has them yet. */
  heldByOthers: (accountId: string, fetchId: number) => number
  onChanges: (changes: StatusChange[]) => void
}

const UNNEEDED = new HoldfastError('ABORTED', 'nobody waits for it any more')
/** How often what has come is made durable, so that a crash loses little of a slow fetch. */
const FLUSH_MS = 2_000
/** How much may come before it is looked again whether there is room. */
const ROOM_CHECK_BYTES = 16 * 1024 ** 2
/** Sources whose failures a reason names. */
const NAMED_SOURCES = 3

/**
 * One attempt to bring a DAG for the records that wait for it. It ends with the DAG whole, with an error, or when it
 * is aborted; a record that cannot have the content is let go of on the way.
 */
export class FetchAttempt {
  readonly fetch: FetchRow
  readonly root: CID
  totals: FetchTotals = { blocks: 0, bytes: 0 }
  /** When it began, or the last block came. */
  movedAt: number
  readonly #parts: AttemptParts
  readonly #abort = new AbortController()
  #cancelStall: () => void = () => undefined
  /** How many bytes the account with the least room may take; null until it is worked out (again). */
  #room: number | null = null
  #roomCheckedAt = 0
  readonly #listeners = new Set<(totals: FetchTotals) => void>()

  constructor(fetch: FetchRow, parts: AttemptParts) {
    this.fetch = fetch
    this.root = cidOf(fetch)
    this.#parts = parts
    this.movedAt = parts.clock.now()
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  abort(reason: HoldfastError): void {
    this.#abort.abort(reason)
  }

  /** Whether it was given up because nobody waited for it any more. */
  get isUnneeded(): boolean {
    return this.#abort.signal.reason === UNNEEDED
  }

  /** A record has joined or left; without any the attempt ends. */
  subscribersChanged(): void {
    this.#room = null
    if (this.#parts.records.ofFetch(this.fetch.id).length === 0) this.abort(UNNEEDED)
  }

  /** Tells of each block that comes, until the returned function is called. */
  onProgress(listener: (totals: FetchTotals) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Brings the DAG and completes it. @throws why it ended otherwise. */
  async run(backend: ClusterBackend, open: (signal: AbortSignal) => Promise<FetchSession>): Promise<void> {
    const { clock, times, shared, bounds } = this.#parts
    const cancelDeadline = clock.after(times.attemptMs, () => this.abort(new HoldfastError('ABORTED', 'took too long')))
    const staged = backend.resume(this.fetch.rootId)
    let session: FetchSession | null = null
    try {
      this.#restartStall()
      session = await open(this.signal)
      let flushedAt = clock.now()
      const onProgress = (totals: FetchTotals): void => {
        this.#progress(totals)
        if (clock.now() - flushedAt < FLUSH_MS) return
        flushedAt = clock.now()
        void staged.store.flush()
      }
      const { signal } = this
      this.totals = await fetchDag(this.root, { staged, session, shared, bounds, signal, onProgress })
      this.#cancelStall()
      await staged.settle()
      await this.#complete(staged)
    } catch (error) {
      await staged.settle().catch(() => undefined)
      throw withSources(error, session)
    } finally {
      session?.close()
      this.#cancelStall()
      cancelDeadline()
    }
  }

  async #complete(staged: StagedDag): Promise<void> {
    const { store, queue, clock, records, onChanges } = this.#parts
    await staged.clearFiles()
    const contentSize = await listContent(staged, this.root, this.totals.blocks, this.signal)
    await staged.settle()
    const { codec, multihash, id } = this.fetch
    const dag = { codec, multihash, contentSize, dagSize: this.totals.bytes, fileCount: staged.fileCount }
    const changes = await queue.run(() => store.complete(id, dag, this.#limitsOf(records.ofFetch(id)), clock.now()), {
      durable: true,
    })
    onChanges(changes)
  }

  #progress(totals: FetchTotals): void {
    this.totals = totals
    this.movedAt = this.#parts.clock.now()
    this.#restartStall()
    for (const listener of this.#listeners) listener(totals)
    if (totals.bytes - this.#roomCheckedAt > ROOM_CHECK_BYTES) this.#room = null
    if (this.#room === null) this.#roomCheckedAt = totals.bytes
    this.#room ??= this.#leastRoom()
    if (totals.bytes <= this.#room) return
    this.#room = null
    this.#refuseOverQuota(totals.bytes)
  }

  /** One account's quota ends its own wait, and the fetch only if nobody else waits. */
  #refuseOverQuota(bytes: number): void {
    const { records, store, queue, clock, onChanges } = this.#parts
    const waiting = records.ofFetch(this.fetch.id)
    const over = waiting.filter(record => this.#roomOf(record.accountId) < bytes)
    for (const { id } of over) {
      const refused = queue.run(() => store.refuse(id, OVER_QUOTA, clock.now()), { durable: true })
      void refused.then(onChanges, () => undefined).then(() => this.subscribersChanged())
    }
    if (over.length < waiting.length) return
    throw new HoldfastError('QUOTA_EXCEEDED', 'the content does not fit into the storage of the plan')
  }

  #leastRoom(): number {
    const waiting = this.#parts.records.ofFetch(this.fetch.id)
    return Math.min(...waiting.map(record => this.#roomOf(record.accountId)))
  }

  #roomOf(accountId: string): number {
    const max = this.#limitsOf([{ accountId }]).get(accountId)?.maxStorageBytes ?? null
    if (max === null) return Number.POSITIVE_INFINITY
    const { records, clock, heldByOthers } = this.#parts
    return max - records.usage(accountId, clock.now()).storedBytes - heldByOthers(accountId, this.fetch.id)
  }

  #limitsOf(records: ReadonlyArray<{ accountId: string }>): Map<string, PinLimits> {
    return new Map(records.map(({ accountId }) => [accountId, this.#parts.limitsOf(accountId)]))
  }

  #restartStall(): void {
    const { clock, times } = this.#parts
    this.#cancelStall()
    this.#cancelStall = clock.after(times.stallMs, () => {
      this.abort(new HoldfastError('ABORTED', `no block came for ${times.stallMs / 1_000} s`))
    })
  }
}

/** An error that also tells how those who were asked have failed. */
function withSources(error: unknown, session: FetchSession | null): unknown {
  if (!isHoldfastError(error) || !['CID_NOT_FOUND', 'ABORTED'].includes(error.code) || error === UNNEEDED) return error
  const failed = (session?.sources() ?? []).filter(source => source.error !== null)
  if (failed.length === 0) return error
  const named = failed.slice(0, NAMED_SOURCES).map(({ source, error: problem }) => `${source} ${problem}`)
  const others = failed.length > NAMED_SOURCES ? [`${failed.length - NAMED_SOURCES} more`] : []
  return new HoldfastError(error.code, `${error.message} (${[...named, ...others].join('; ')})`, { cause: error })
}
