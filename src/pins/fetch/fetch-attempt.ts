import type { CID } from 'multiformats/cid'
import { type Fetches, type FetchRow, OVER_QUOTA, type StatusChange } from '../../catalogue/fetches.ts'
import type { PlacementRow } from '../../catalogue/placements.ts'
import type { PinLimits, Records } from '../../catalogue/records.ts'
import type { ClusterBackend } from '../../clusters/cluster-backend.ts'
import { stagingOf } from '../../clusters/staging-backend.ts'
import { type FetchBounds, type FetchTotals, fetchDag, SharedBlocks } from '../../content/dag/fetch.ts'
import type { StagedDag } from '../../content/dag/staged-dag.ts'
import { listContent } from '../../content/unixfs/content-listing.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import { cidOf } from '../../ipld/cid.ts'
import type { Attempt } from '../../jobs/job-runner.ts'
import { Possessor, PUBLIC } from '../../ledger/possessor.ts'
import type { FetchSession } from '../../network/block-fetcher.ts'
import type { DeletionStop } from '../deletion-stop.ts'
import { type ExternalFetch, type FetchingBackends, fetchExternally } from './external-fetch.ts'

export interface FetchTimes {
  stallMs: number
  /** Time after which an attempt is aborted, even if it makes progress. */
  attemptMs: number
}

export interface AttemptParts {
  limitsOf: (accountId: string) => Promise<PinLimits>
  /** Returns true if a live root of the same owner on this node has the complete DAG of this fetch. */
  isHere: (fetch: FetchRow) => boolean
  /** Returns undefined if the backend is no longer configured. */
  backendOf: (backendId: number) => ClusterBackend | undefined
  records: Records
  fetches: Fetches
  clock: Clock
  bounds: FetchBounds
  times: FetchTimes
  /** Returns the bytes that an account's other fetches have stored but not yet pinned. The quota counts these bytes. */
  heldByOthers: (accountId: string, fetchId: number) => Promise<number>
  onChanges: (changes: StatusChange[]) => void
  deletion: Pick<DeletionStop, 'dropped' | 'isHeld'>
  fetchingBackends: FetchingBackends
}

export type OpenSession = (signal: AbortSignal, root: CID) => Promise<FetchSession>

export type MakeAttempt = (job: FetchRow, open: OpenSession) => FetchAttempt

const UNNEEDED = new HoldfastError('ABORTED', 'no record waits for the content')
/** A crash loses only the blocks written since the last sync to disk. */
const FLUSH_MS = 2_000
const ROOM_CHECK_BYTES = 16 * 1024 ** 2
const NAMED_PROVIDERS = 3

/** Returns a function that makes the attempts of a node. Attempts that run at once share the blocks that they fetch. */
export function attemptMaker(parts: AttemptParts): MakeAttempt {
  const shared = new SharedBlocks()
  return (job, open) => new FetchAttempt(job, { ...parts, shared }, open)
}

/**
 * One attempt to fetch a DAG for all waiting records. If the DAG exceeds the quota of one account, only that account's
 * records fail.
 */
export class FetchAttempt implements Attempt<FetchRow> {
  readonly job: FetchRow
  readonly root: CID
  totals: FetchTotals = { blocks: 0, bytes: 0, charge: 0 }
  movedAt: number
  readonly #parts: AttemptParts & { shared: SharedBlocks }
  readonly #open: OpenSession
  readonly #abort = new AbortController()
  #cancelStall: () => void = () => undefined
  /** Smallest free quota of the waiting accounts in bytes, as of the last check. */
  #room = Number.POSITIVE_INFINITY
  #roomCheckedAt = 0
  #checking: Promise<void> | null = null
  /** Aborts when an account with a storage limit joins the fetch. */
  readonly #limited = new AbortController()
  readonly #listeners = new Set<(totals: FetchTotals) => void>()

  constructor(job: FetchRow, parts: AttemptParts & { shared: SharedBlocks }, open: OpenSession) {
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

  get isUnneeded(): boolean {
    return this.#abort.signal.reason === UNNEEDED
  }

  /** Call this after records have joined or left the fetch. If no record is left, the attempt aborts. */
  async subscribersChanged(): Promise<void> {
    if (!(await this.#parts.fetches.isWanted(this.job.id))) return this.abort(UNNEEDED)
    if (!(await this.#isUnlimited())) this.#limited.abort()
    await this.#checkRoom()
  }

  /** Returns a function that removes the listener. */
  onProgress(listener: (totals: FetchTotals) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async run(): Promise<void> {
    const { clock, times, shared, bounds, backendOf } = this.#parts
    const backend = backendOf(this.job.backendId)
    if (backend === undefined) throw new HoldfastError('UNAVAILABLE', 'the backend of the cluster is not configured')
    const cancelDeadline = clock.after(times.attemptMs, () => this.abort(new HoldfastError('ABORTED', 'took too long')))
    if (this.job.isWhole) return this.#deliver().finally(cancelDeadline)
    const staged = stagingOf(backend).staging.resume(this.job.rootId)
    const { owner, possessor } = this.job
    const by = new Possessor(possessor, clock)
    let session: FetchSession | null = null
    try {
      this.#restartStall()
      await this.#checkRoom()
      session = await this.#open(this.signal, this.root)
      const external = await this.#fetchExternally(staged, session)
      let flushedAt = clock.now()
      const onProgress = (totals: FetchTotals): void => {
        this.#progress(totals)
        if (clock.now() - flushedAt < FLUSH_MS) return
        flushedAt = clock.now()
        void staged.store.flush()
      }
      const { signal } = this
      const source = external ?? { session }
      this.totals = await fetchDag(this.root, { staged, by, owner, ...source, shared, bounds, signal, onProgress })
      this.#cancelStall()
      await staged.settle()
      await this.#complete(staged, external?.placement ?? null)
    } catch (error) {
      await staged.settle().catch(() => undefined)
      throw withProviders(error, session)
    } finally {
      session?.close()
      this.#cancelStall()
      cancelDeadline()
    }
  }

  /** Returns null if this node must fetch the DAG, for example to check a storage limit before the bytes arrive. */
  async #fetchExternally(staged: StagedDag, found: FetchSession): Promise<ExternalFetch | null> {
    const { fetchingBackends, clock, isHere } = this.#parts
    const fetching = fetchingBackends.of(this.job.backendId)
    if (fetching === null) return null
    if (isHere(this.job) || !(await this.#isUnlimited())) return this.#fetchLocally(staged)
    if (!staged.has(this.root)) {
      await staged.put(this.root, await found.get(this.root, { signal: this.signal }))
      await staged.settle()
    }
    this.#cancelStall()
    const signal = AbortSignal.any([this.signal, this.#limited.signal])
    const onMoved = (): void => {
      this.movedAt = clock.now()
    }
    try {
      const external = await fetchExternally(
        fetching,
        { job: this.job, root: this.root, signal, onMoved },
        { ...fetchingBackends, clock },
      )
      await staged.setPlaced(true)
      return external
    } catch (error) {
      if (this.signal.aborted || !this.#limited.signal.aborted) throw error
      await fetchingBackends.placements.withdraw(this.job.backendId, this.job)
      fetchingBackends.wake()
      return this.#fetchLocally(staged)
    } finally {
      this.#restartStall()
    }
  }

  async #fetchLocally(staged: StagedDag): Promise<null> {
    await staged.setPlaced(false)
    return null
  }

  async #isUnlimited(): Promise<boolean> {
    const { fetches, limitsOf } = this.#parts
    const accounts = await fetches.waitingAccounts(this.job.id)
    const limits = await Promise.all(accounts.map(id => limitsOf(id)))
    return limits.every(({ maxStorageBytes }) => maxStorageBytes === null)
  }

  async #complete(staged: StagedDag, external: PlacementRow | null): Promise<void> {
    await staged.clearFiles()
    const { blocks, bytes, charge } = this.totals
    const contentSize = await listContent(staged, this.root, { blockCount: blocks, charge }, this.signal)
    await staged.settle()
    const { codec, multihash, owner, id } = this.job
    if (owner !== PUBLIC) await staged.close()
    const sizes = { contentSize, dagSize: bytes, blocks, charge, fileCount: staged.fileCount }
    const { fetches, clock, fetchingBackends } = this.#parts
    const current = external && (await fetchingBackends.placements.find(external.backendId, external))
    if (external !== null && current?.generation !== external.generation) {
      throw new HoldfastError('UNAVAILABLE', 'the cluster was asked to unpin the content during the fetch')
    }
    await fetches.complete(id, { codec, multihash, owner, ...sizes })
    if (external !== null) await fetchingBackends.placements.placed(external, clock.now())
    await this.#deliver()
  }

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
    // A record may stay `pinning` until the external backend has the content. Only this call wakes the runner for the
    // record.
    this.#parts.fetchingBackends.wake()
  }

  #progress(totals: FetchTotals): void {
    this.totals = totals
    this.movedAt = this.#parts.clock.now()
    this.#restartStall()
    for (const listener of this.#listeners) listener(totals)
    const isDue = totals.charge - this.#roomCheckedAt > ROOM_CHECK_BYTES
    if (isDue || totals.charge > this.#room) void this.#checkRoom()
  }

  /** Shares one running check among all callers. */
  #checkRoom(): Promise<void> {
    this.#checking ??= this.#refuseOverQuota()
      .catch((error: unknown) => this.#abort.abort(error))
      .finally(() => {
        this.#checking = null
      })
    return this.#checking
  }

  /** Fails the records of accounts whose quota the DAG exceeds. If no other account waits, the attempt aborts. */
  async #refuseOverQuota(): Promise<void> {
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

function withProviders(error: unknown, session: FetchSession | null): unknown {
  if (!isHoldfastError(error) || !['CID_NOT_FOUND', 'ABORTED'].includes(error.code) || error === UNNEEDED) return error
  const failed = (session?.providers() ?? []).filter(provider => provider.error !== null)
  if (failed.length === 0) return error
  const named = failed.slice(0, NAMED_PROVIDERS).map(({ provider, error: problem }) => `${provider} ${problem}`)
  const others = failed.length > NAMED_PROVIDERS ? [`${failed.length - NAMED_PROVIDERS} more`] : []
  return new HoldfastError(error.code, `${error.message} (${[...named, ...others].join('; ')})`, { cause: error })
}
