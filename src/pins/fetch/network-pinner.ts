import type { CID } from 'multiformats/cid'
import type { Fetches } from '../../catalogue/fetches.ts'
import type { Records } from '../../catalogue/records.ts'
import { Deadline } from '../../concurrency/deadline.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import { badOrigins, FETCH_ORIGINS, tooManyOrigins } from '../../domain/origins.ts'
import { HASH, identityOf } from '../../ipld/cid.ts'
import { PUBLIC } from '../../ledger/possessor.ts'
import type { BlockFetcher, FetchSession } from '../../network/block-fetcher.ts'
import type { DecidedPin } from '../decided-pin.ts'
import type { PinChanges } from '../pin-changes.ts'
import { storedNames } from '../pin-names.ts'
import type { PinOutcome, PinRecord } from '../pin-types.ts'
import { newUploadId, presentRecord } from '../present-record.ts'
import type { FetchScheduler } from './fetch-scheduler.ts'

export interface NetworkPinTimes {
  /** Time limit of the search for the root on the network. */
  findMs: number
  /** Maximum time that a request waits for the rest of the DAG. */
  waitMs: number
}

export interface NetworkPinnerParts {
  scheduler: FetchScheduler
  fetches: Fetches
  records: Records
  clock: Clock
  changes: PinChanges
  times: NetworkPinTimes
  /** Null if networking is off. */
  fetcher: BlockFetcher | null
}

/** Pins content from the network: finds the root and writes the record. The scheduler fetches the other blocks. */
export class NetworkPinner {
  readonly #parts: NetworkPinnerParts
  readonly #waiting = new Map<string, Set<() => void>>()

  constructor(parts: NetworkPinnerParts) {
    this.#parts = parts
    parts.changes.observe({
      changed: record => this.#settled(record),
      removed: record => this.#settled({ ...record, status: 'failed' }),
    })
  }

  /**
   * Pins content from the network.
   * @throws HoldfastError `CID_NOT_FOUND` if no provider has the root, in which case no record is written;
   * `QUOTA_EXCEEDED`; `VALIDATION` for origins and names
   */
  async pin(pin: DecidedPin): Promise<PinOutcome> {
    const { request, cid, home, target } = pin
    const origins = request.origins ?? []
    if (this.#parts.fetcher === null || !this.#parts.fetcher.canAsk(origins)) {
      const remedy = 'upload the content, or set network.enabled'
      throw new HoldfastError('CID_NOT_FOUND', `this node has no ${cid}, and no network to ask: ${remedy}`)
    }
    const running = await this.#parts.fetches.find(home.id, identityOf(cid), target.owner)
    const isUnderWay = running !== undefined && this.#parts.scheduler.attempt(running.id) !== undefined
    if (request.respondAsync === true || isUnderWay) {
      this.#checkOrigins(origins)
      const { outcome, fetchId } = await this.#record(pin)
      this.#parts.scheduler.wake()
      return request.respondAsync === true ? outcome : this.#outcome(pin, outcome, fetchId)
    }
    const session = await this.#find(this.#parts.fetcher, pin)
    try {
      const { outcome, fetchId } = await this.#record(pin)
      if (fetchId !== null) await this.#parts.scheduler.begin(fetchId, session)
      else session.close()
      return await this.#outcome(pin, outcome, fetchId)
    } catch (error) {
      session.close()
      throw error
    }
  }

  /**
   * Returns the origins that this node can contact.
   * @throws HoldfastError `VALIDATION` for a malformed origin, or too many
   */
  usable(origins: readonly string[] = []): readonly string[] {
    if (origins.length > FETCH_ORIGINS) throw tooManyOrigins()
    return this.#parts.fetcher?.usable(origins) ?? origins
  }

  /** Checks origins that are stored. A bad one would fail the fetch for all accounts that share it. */
  #checkOrigins(origins: readonly string[]): void {
    const usable = this.usable(origins)
    const refused = origins.find(origin => !usable.includes(origin))
    if (refused !== undefined) throw badOrigins(`${JSON.stringify(refused)} is at a private address`)
  }

  /** Returns whether records wait for a fetch of the DAG. */
  async isFetched({ cid, home, target }: DecidedPin): Promise<boolean> {
    return (await this.#parts.fetches.find(home.id, identityOf(cid), target.owner)) !== undefined
  }

  /** Writes a `queued` record without searching for the root. */
  async queue(pin: DecidedPin): Promise<PinOutcome> {
    const { outcome } = await this.#record(pin)
    this.#parts.scheduler.wake()
    return outcome
  }

  async #find(fetcher: BlockFetcher, { request, requester, cid }: DecidedPin): Promise<FetchSession> {
    const { clock, times } = this.#parts
    const deadline = new Deadline({ clock, ms: times.findMs, late: () => notFound(cid), signal: request.signal })
    const { signal } = deadline
    let session: FetchSession | null = null
    try {
      const owner = requester.account.id
      session = await fetcher.open(cid, { origins: request.origins ?? [], owner, signal })
      if (cid.multihash.code === HASH.identity) return session
      return primed(session, cid, await session.get(cid, { signal }))
    } catch (error) {
      session?.close()
      if (deadline.isOver) throw notFound(cid)
      throw error
    } finally {
      deadline.rest()
    }
  }

  async #record({ request, requester, cid, target, home, by }: DecidedPin) {
    const now = this.#parts.clock.now()
    const record = {
      id: newUploadId(now),
      accountId: requester.account.id,
      clusterId: target.clusterId,
      cid: request.cid.trim(),
      ...identityOf(cid),
      type: 'pin' as const,
      ...storedNames(request),
      status: 'queued' as const,
      statusAt: now,
      statusCode: null,
      statusReason: null,
      size: 0,
      owner: target.owner,
      expiresAt: target.expiresAt,
      createdAt: now,
    }
    const { origins = [], isAnew = false } = request
    const made = await this.#parts.fetches.request({
      record,
      owner: target.owner,
      possessor: by.owner === target.owner ? by.owner : PUBLIC,
      backendId: home.id,
      origins,
      limits: requester.plan,
      now,
      isAnew,
    })
    const outcome = { record: presentRecord(made.record), created: made.created }
    if (made.created) this.#parts.changes.created(made.record)
    for (const { record: row, from } of made.changes) this.#parts.changes.changed(row, from)
    if (made.fetchId !== null) await this.#parts.scheduler.attempt(made.fetchId)?.subscribersChanged()
    return { outcome, fetchId: made.fetchId }
  }

  async #outcome({ request }: DecidedPin, outcome: PinOutcome, fetchId: number | null): Promise<PinOutcome> {
    if (fetchId !== null) {
      const { signal, onProgress = () => undefined } = request
      const unlisten = this.#parts.scheduler
        .attempt(fetchId)
        ?.onProgress(({ blocks, bytes }) => onProgress({ blocks, bytes }))
      await this.#wait(outcome.record.uploadId, signal)
      unlisten?.()
    }
    // The record exists, even if the catalogue cannot be read now.
    const row = await this.#parts.records.get(outcome.record.uploadId).catch(unlessUnavailable)
    if (row === undefined) return outcome
    if (outcome.created && row.status === 'failed' && row.statusCode === 'QUOTA_EXCEEDED') {
      await this.#parts.records.discard(row.id)
      if (fetchId !== null) await this.#parts.scheduler.left(fetchId)
      throw new HoldfastError('QUOTA_EXCEEDED', 'the content does not fit into the storage of the plan')
    }
    return { record: presentRecord(row), created: outcome.created }
  }

  #wait(uploadId: string, signal: AbortSignal | undefined): Promise<void> {
    return new Promise(resolve => {
      const done = (): void => {
        cancel()
        signal?.removeEventListener('abort', done)
        this.#waiting.get(uploadId)?.delete(done)
        if (this.#waiting.get(uploadId)?.size === 0) this.#waiting.delete(uploadId)
        resolve()
      }
      const cancel = this.#parts.clock.after(this.#parts.times.waitMs, done)
      signal?.addEventListener('abort', done, { once: true })
      this.#waiting.set(uploadId, (this.#waiting.get(uploadId) ?? new Set()).add(done))
      if (signal?.aborted === true) done()
      else void this.#isSettled(uploadId).then(isSettled => isSettled && done(), done)
    })
  }

  async #isSettled(uploadId: string): Promise<boolean> {
    const status = (await this.#parts.records.get(uploadId))?.status
    return status !== 'queued' && status !== 'pinning'
  }

  #settled({ uploadId, status }: PinRecord): void {
    if (status === 'queued' || status === 'pinning') return
    for (const done of [...(this.#waiting.get(uploadId) ?? [])]) done()
  }
}

function unlessUnavailable(error: unknown): undefined {
  if (!isHoldfastError(error, 'UNAVAILABLE')) throw error
}

function notFound(cid: CID): HoldfastError {
  return new HoldfastError('CID_NOT_FOUND', `no provider has ${cid}`)
}

/** Returns a session whose first `get` of the root returns these bytes without a request. */
function primed(session: FetchSession, root: CID, bytes: Uint8Array): FetchSession {
  let first: Uint8Array | null = bytes
  return {
    get: async (cid, options) => {
      if (first === null || !cid.equals(root)) return session.get(cid, options)
      const found = first
      first = null
      return found
    },
    providers: () => session.providers(),
    close: () => session.close(),
  }
}
