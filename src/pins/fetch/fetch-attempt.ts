import type { CID } from 'multiformats/cid'
import { type Fetches, type FetchRow, OVER_QUOTA, type StatusChange } from '../../catalogue/fetches.ts'
import type { PlacementRow } from '../../catalogue/placements.ts'
import type { PinLimits, Records } from '../../catalogue/records.ts'
import type { ClusterBackend } from '../../clusters/cluster-backend.ts'
import { stagingOf } from '../../clusters/staging-backend.ts'
import { type FetchBounds, type FetchTotals, fetchDag, type SharedBlocks } from '../../content/dag/fetch.ts'
import type { StagedDag } from '../../content/dag/staged-dag.ts'
import { listContent } from '../../content/unixfs/content-listing.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import { cidOf } from '../../ipld/cid.ts'
import type { Attempt } from '../../jobs/job-runner.ts'
import type { FetchSession } from '../../network/block-fetcher.ts'
import { type FetchedElsewhere, type Keepers, leaveTo } from './left-fetch.ts'

export interface FetchTimes {
  /** Without a block for this long an attempt has stalled. */
  stallMs: number
  /** An attempt takes this long at most. */
  attemptMs: number
}

export interface AttemptParts {
  /** What the plan of an account allows. */
  limitsOf: (accountId: string) => Promise<PinLimits>
  /** Whether all of a DAG is here already, for others. */
  isHere: (fetch: FetchRow) => boolean
  /** By its number in the ledger; undefined if it is not configured any more. */
  backendOf: (backendId: number) => ClusterBackend | undefined
  records: Records
  fetches: Fetches
  clock: Clock
  shared: SharedBlocks
  bounds: FetchBounds
  times: FetchTimes
  /** What the blocks count that an account's other fetches have brought, though no record has them yet. */
  heldByOthers: (accountId: string, fetchId: number) => Promise<number>
  onChanges: (changes: StatusChange[]) => void
  keepers: Keepers
}

/** Looks for who has a root. */
export type OpenSession = (signal: AbortSignal, root: CID) => Promise<FetchSession>

const UNNEEDED = new HoldfastError('ABORTED', 'nobody waits for it any more')
/** How often what has come is made durable, so that a crash loses little of a slow fetch. */
const FLUSH_MS = 2_000
/** How much may come before it is looked again whether there is room. */
const ROOM_CHECK_BYTES = 16 * 1024 ** 2
/** Sources whose failures a reason names. */
const NAMED_PROVIDERS = 3

/**
 * One attempt to bring a DAG for the records that wait for it. It ends with the DAG whole, with an error, or when it
 * is aborted; a record that cannot have the content is let go of on the way.
 */
export class FetchAttempt implements Attempt<FetchRow> {
  readonly job: FetchRow
  readonly root: CID
  totals: FetchTotals = { blocks: 0, bytes: 0, charge: 0 }
  /** When it began, or the last block came. */
  movedAt: number
  readonly #parts: AttemptParts
  readonly #open: OpenSession
  readonly #abort = new AbortController()
  #cancelStall: () => void = () => undefined
  /** How much the account with the least room may take, in bytes, as far as is known. */
  #room = Number.POSITIVE_INFINITY
  #roomCheckedAt = 0
  #checking: Promise<void> | null = null
  /** Aborted once somebody waits for it whose plan has a limit. */
  readonly #limited = new AbortController()
  readonly #listeners = new Set<(totals: FetchTotals) => void>()

  constructor(job: FetchRow, parts: AttemptParts, open: OpenSession) {
    this.job = job
    this.root = cidOf(job)
    this.#parts = parts
    this.#open = open
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
  async subscribersChanged(): Promise<void> {
    if (!(await this.#parts.fetches.isWanted(this.job.id))) return this.abort(UNNEEDED)
    if (!(await this.#isUnlimited())) this.#limited.abort()
    await this.#checkRoom()
  }

  /** Tells of each block that comes, until the returned function is called. */
  onProgress(listener: (totals: FetchTotals) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Brings the DAG and completes it. @throws why it ended otherwise. */
  async run(): Promise<void> {
    const { clock, times, shared, bounds, backendOf } = this.#parts
    const backend = backendOf(this.job.backendId)
    if (backend === undefined) throw new HoldfastError('UNAVAILABLE', 'the backend of the cluster is not configured')
    const cancelDeadline = clock.after(times.attemptMs, () => this.abort(new HoldfastError('ABORTED', 'took too long')))
    if (this.job.isWhole) return this.#deliver().finally(cancelDeadline)
    const staged = stagingOf(backend).staging.resume(this.job.rootId)
    let session: FetchSession | null = null
    try {
      this.#restartStall()
      await this.#checkRoom()
      session = await this.#open(this.signal, this.root)
      const left = await this.#leave(staged, session)
      let flushedAt = clock.now()
      const onProgress = (totals: FetchTotals): void => {
        this.#progress(totals)
        if (clock.now() - flushedAt < FLUSH_MS) return
        flushedAt = clock.now()
        void staged.store.flush()
      }
      const { signal } = this
      const source = left ?? { session }
      this.totals = await fetchDag(this.root, { staged, ...source, shared, bounds, signal, onProgress })
      this.#cancelStall()
      await staged.settle()
      await this.#complete(staged, left?.placement ?? null)
    } catch (error) {
      await staged.settle().catch(() => undefined)
      throw withProviders(error, session)
    } finally {
      session?.close()
      this.#cancelStall()
      cancelDeadline()
    }
  }

  /**
   * Leaves all below the root to the cluster, if that fetches by itself and nobody who waits has a limit: then nothing has
   * to be counted before it comes. Null if it is fetched here.
   */
  async #leave(staged: StagedDag, found: FetchSession): Promise<FetchedElsewhere | null> {
    const { keepers, clock, isHere } = this.#parts
    const keeper = keepers.of(this.job.backendId)
    if (keeper === null) return null
    if (isHere(this.job) || !(await this.#isUnlimited())) return this.#fetchHere(staged)
    if (!staged.store.has(this.root)) {
      await staged.put(this.root, await found.get(this.root, { signal: this.signal }))
      await staged.settle()
    }
    this.#cancelStall()
    const signal = AbortSignal.any([this.signal, this.#limited.signal])
    const onMoved = (): void => {
      this.movedAt = clock.now()
    }
    try {
      const left = await leaveTo(keeper, { job: this.job, root: this.root, signal, onMoved }, { ...keepers, clock })
      await staged.setPlaced(true)
      return left
    } catch (error) {
      if (this.signal.aborted || !this.#limited.signal.aborted) throw error
      await keepers.placements.withdraw(this.job.backendId, this.job)
      keepers.wake()
      return this.#fetchHere(staged)
    } finally {
      this.#restartStall()
    }
  }

  /** What an earlier attempt has left elsewhere has to come. */
  async #fetchHere(staged: StagedDag): Promise<null> {
    await staged.setPlaced(false)
    return null
  }

  async #isUnlimited(): Promise<boolean> {
    const { fetches, limitsOf } = this.#parts
    const accounts = await fetches.waitingAccounts(this.job.id)
    const limits = await Promise.all(accounts.map(id => limitsOf(id)))
    return limits.every(({ maxStorageBytes }) => maxStorageBytes === null)
  }

  async #complete(staged: StagedDag, left: PlacementRow | null): Promise<void> {
    await staged.clearFiles()
    const contentSize = await listContent(staged, this.root, this.totals.blocks, this.signal)
    await staged.settle()
    const { codec, multihash, id } = this.job
    const { blocks, bytes, charge } = this.totals
    const sizes = { contentSize, dagSize: bytes, blocks, charge, fileCount: staged.fileCount }
    const { fetches, clock, keepers } = this.#parts
    const told = left && (await keepers.placements.find(left.backendId, left))
    if (left !== null && told?.generation !== left.generation) {
      throw new HoldfastError('UNAVAILABLE', 'the cluster was told to let go of it meanwhile')
    }
    await fetches.complete(id, { codec, multihash, ...sizes })
    if (left !== null) await keepers.placements.placed(left, clock.now())
    await this.#deliver()
  }

  /** All of it is here, and kept: whoever waits gets it, in steps. */
  async #deliver(): Promise<void> {
    const { fetches, limitsOf, clock, onChanges } = this.#parts
    for (let isDone = false; !isDone; ) {
      const accounts = await fetches.waitingAccounts(this.job.id)
      const limits = new Map<string, PinLimits>()
      for (const accountId of accounts) limits.set(accountId, await limitsOf(accountId))
      const delivered = await fetches.deliver(this.job.id, limits, clock.now())
      onChanges(delivered.changes)
      isDone = delivered.isDone
    }
    // A record that goes on as `pinning` tells nobody that its cluster is to have it now.
    this.#parts.keepers.wake()
  }

  #progress(totals: FetchTotals): void {
    this.totals = totals
    this.movedAt = this.#parts.clock.now()
    this.#restartStall()
    for (const listener of this.#listeners) listener(totals)
    const isDue = totals.charge - this.#roomCheckedAt > ROOM_CHECK_BYTES
    if (isDue || totals.charge > this.#room) void this.#checkRoom()
  }

  /** One look at a time; whoever asks meanwhile gets that one's outcome, and what comes after it is looked at anew. */
  #checkRoom(): Promise<void> {
    this.#checking ??= this.#lookForRoom()
      .catch((error: unknown) => this.#abort.abort(error))
      .finally(() => {
        this.#checking = null
      })
    return this.#checking
  }

  /** One account's quota ends its own wait, and the fetch only if nobody else waits. */
  async #lookForRoom(): Promise<void> {
    const { fetches, clock, onChanges } = this.#parts
    const { id } = this.job
    this.#roomCheckedAt = this.totals.charge
    const accounts = await fetches.waitingAccounts(id)
    if (accounts.length === 0) return this.abort(UNNEEDED)
    const over: string[] = []
    let room = Number.POSITIVE_INFINITY
    for (const accountId of accounts) {
      const theirs = await this.#roomOf(accountId)
      if (this.totals.charge > theirs) over.push(accountId)
      else room = Math.min(room, theirs)
    }
    this.#room = room
    for (const accountId of over) {
      onChanges(await fetches.refuse(await fetches.waitersOf(id, accountId), OVER_QUOTA, clock.now()))
    }
    if (over.length < accounts.length) return
    this.abort(new HoldfastError('QUOTA_EXCEEDED', 'the content does not fit into the storage of the plan'))
  }

  async #roomOf(accountId: string): Promise<number> {
    const { records, clock, heldByOthers, limitsOf } = this.#parts
    const max = (await limitsOf(accountId)).maxStorageBytes
    if (max === null) return Number.POSITIVE_INFINITY
    const { storedBytes } = await records.usage(accountId, clock.now())
    return max - storedBytes - (await heldByOthers(accountId, this.job.id))
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
function withProviders(error: unknown, session: FetchSession | null): unknown {
  if (!isHoldfastError(error) || !['CID_NOT_FOUND', 'ABORTED'].includes(error.code) || error === UNNEEDED) return error
  const failed = (session?.providers() ?? []).filter(provider => provider.error !== null)
  if (failed.length === 0) return error
  const named = failed.slice(0, NAMED_PROVIDERS).map(({ provider, error: problem }) => `${provider} ${problem}`)
  const others = failed.length > NAMED_PROVIDERS ? [`${failed.length - NAMED_PROVIDERS} more`] : []
  return new HoldfastError(error.code, `${error.message} (${[...named, ...others].join('; ')})`, { cause: error })
}
