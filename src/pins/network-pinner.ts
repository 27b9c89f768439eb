import type { CID } from 'multiformats/cid'
import type { FetchStore } from '../catalogue/sqlite/fetch-store.ts'
import type { FetchTable } from '../catalogue/sqlite/fetch-table.ts'
import type { PinStore } from '../catalogue/sqlite/pin-store.ts'
import type { RecordTable } from '../catalogue/sqlite/record-table.ts'
import { HASH, identityOf } from '../domain/cid.ts'
import type { Clock } from '../domain/clock.ts'
import type { Emitter } from '../domain/emitter.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { BlockFetcher, FetchSession } from '../network/block-fetcher.ts'
import type { WriteQueue } from '../storage/write-queue.ts'
import type { FetchScheduler } from './fetch-scheduler.ts'
import { newUploadId, presentRecord } from './pin-commit.ts'
import { storedNames } from './pin-names.ts'
import type { DecidedPin, EngineEvents, PinOutcome, PinRecord } from './types.ts'

export interface NetworkPinTimes {
  /** How long the network is asked for the root. */
  findMs: number
  /** How long a request waits for the rest of the DAG. */
  waitMs: number
}

/** Pins content that others hold: looks for its root, writes the record, and leaves the rest to the scheduler. */
export class NetworkPinner {
  readonly #scheduler: FetchScheduler
  readonly #tables: { fetches: FetchTable; records: RecordTable }
  readonly #store: FetchStore
  readonly #pins: PinStore
  readonly #queue: WriteQueue
  readonly #clock: Clock
  readonly #events: Emitter<EngineEvents>
  readonly #times: NetworkPinTimes
  /** Null while networking is off. */
  readonly #fetcher: BlockFetcher | null
  /** Requests that wait for a record. */
  readonly #waiting = new Map<string, Set<() => void>>()

  constructor(parts: {
    scheduler: FetchScheduler
    tables: { fetches: FetchTable; records: RecordTable }
    store: FetchStore
    pins: PinStore
    queue: WriteQueue
    clock: Clock
    events: Emitter<EngineEvents>
    times: NetworkPinTimes
    fetcher: BlockFetcher | null
  }) {
    this.#scheduler = parts.scheduler
    this.#tables = parts.tables
    this.#store = parts.store
    this.#pins = parts.pins
    this.#queue = parts.queue
    this.#clock = parts.clock
    this.#events = parts.events
    this.#times = parts.times
    this.#fetcher = parts.fetcher
    parts.events.on('pin:status', ({ record }) => this.#settled(record))
    parts.events.on('pin:removed', ({ record }) => this.#settled({ ...record, status: 'failed' }))
  }

  /**
   * @throws HoldfastError `CID_NOT_FOUND`, with nothing recorded, if nobody has the root; `QUOTA_EXCEEDED`;
   * `VALIDATION` for origins and names.
   */
  async pin(pin: DecidedPin): Promise<PinOutcome> {
    const { request, cid, home } = pin
    const origins = request.origins ?? []
    if (this.#fetcher === null || !this.#fetcher.canAsk(origins)) throw notFound(cid)
    const running = this.#tables.fetches.find(home.id, identityOf(cid))
    const isUnderWay = running !== undefined && this.#scheduler.attempt(running.id) !== undefined
    if (request.respondAsync === true || isUnderWay) {
      const { outcome, fetchId } = await this.#record(pin)
      this.#scheduler.wake()
      return request.respondAsync === true ? outcome : this.#outcome(pin, outcome, fetchId)
    }
    const session = await this.#find(this.#fetcher, pin)
    try {
      const { outcome, fetchId } = await this.#record(pin)
      if (fetchId !== null) this.#scheduler.begin(fetchId, session)
      else session.close()
      return await this.#outcome(pin, outcome, fetchId)
    } catch (error) {
      session.close()
      throw error
    }
  }

  /** A session that has the root. */
  async #find(fetcher: BlockFetcher, { request, requester, cid }: DecidedPin): Promise<FetchSession> {
    const late = new AbortController()
    const cancel = this.#clock.after(this.#times.findMs, () => late.abort(notFound(cid)))
    const signal = request.signal === undefined ? late.signal : AbortSignal.any([request.signal, late.signal])
    let session: FetchSession | null = null
    try {
      const owner = requester.account.id
      session = await fetcher.open(cid, { origins: request.origins ?? [], owner, signal })
      if (cid.multihash.code === HASH.identity) return session
      return primed(session, cid, await session.get(cid, { signal }))
    } catch (error) {
      session?.close()
      if (late.signal.aborted) throw notFound(cid)
      throw error
    } finally {
      cancel()
    }
  }

  async #record({ request, requester, cid, target, home }: DecidedPin) {
    const now = this.#clock.now()
    const record = {
      ...{ id: newUploadId(now), accountId: requester.account.id, clusterId: target.clusterId },
      ...{ cid: request.cid.trim(), ...identityOf(cid), type: 'pin' as const, ...storedNames(request) },
      ...{ status: 'queued' as const, statusAt: now, statusReason: null },
      ...{ size: 0, expiresAt: target.expiresAt, createdAt: now },
    }
    const origins = request.origins ?? []
    const made = await this.#queue.run(
      () => this.#store.request({ record, backendId: home.id, origins, limits: requester.plan, now }),
      { durable: true },
    )
    const outcome = { record: presentRecord(made.record), created: made.created }
    if (made.created) this.#events.emit('pin:created', { record: outcome.record })
    for (const { record: row, from } of made.changes) {
      this.#events.emit('pin:status', { record: presentRecord(row), from, reason: row.statusReason })
    }
    if (made.fetchId !== null) this.#scheduler.attempt(made.fetchId)?.subscribersChanged()
    return { outcome, fetchId: made.fetchId }
  }

  /** The record as it is once it is settled, or when the wait is over. */
  async #outcome({ request }: DecidedPin, outcome: PinOutcome, fetchId: number | null): Promise<PinOutcome> {
    if (fetchId !== null) {
      const { signal, onProgress = () => undefined } = request
      const unlisten = this.#scheduler.attempt(fetchId)?.onProgress(onProgress)
      await this.#wait(outcome.record.uploadId, signal)
      unlisten?.()
    }
    const row = this.#tables.records.get(outcome.record.uploadId)
    if (row === undefined) return outcome
    if (outcome.created && row.status === 'failed' && row.statusReason?.startsWith('QUOTA_EXCEEDED') === true) {
      await this.#queue.run(() => this.#pins.removeRecord(row), { durable: true })
      if (fetchId !== null) await this.#scheduler.subscribersChanged(fetchId)
      throw new HoldfastError('QUOTA_EXCEEDED', 'the content does not fit into the storage of the plan')
    }
    return { record: presentRecord(row), created: outcome.created }
  }

  /** Until the record has what it waits for, or cannot have it; or for as long as a request may take. */
  #wait(uploadId: string, signal: AbortSignal | undefined): Promise<void> {
    return new Promise(resolve => {
      const done = (): void => {
        cancel()
        signal?.removeEventListener('abort', done)
        this.#waiting.get(uploadId)?.delete(done)
        if (this.#waiting.get(uploadId)?.size === 0) this.#waiting.delete(uploadId)
        resolve()
      }
      const cancel = this.#clock.after(this.#times.waitMs, done)
      signal?.addEventListener('abort', done, { once: true })
      this.#waiting.set(uploadId, (this.#waiting.get(uploadId) ?? new Set()).add(done))
      if (signal?.aborted === true || this.#isSettled(uploadId)) done()
    })
  }

  #isSettled(uploadId: string): boolean {
    const status = this.#tables.records.get(uploadId)?.status
    return status !== 'queued' && status !== 'pinning'
  }

  #settled({ uploadId, status }: PinRecord): void {
    if (status === 'queued' || status === 'pinning') return
    for (const done of [...(this.#waiting.get(uploadId) ?? [])]) done()
  }
}

function notFound(cid: CID): HoldfastError {
  return new HoldfastError('CID_NOT_FOUND', `nobody who was asked has ${cid}`)
}

/** The same session, which need not be asked for the root again. */
function primed(session: FetchSession, root: CID, bytes: Uint8Array): FetchSession {
  let first: Uint8Array | null = bytes
  return {
    get: async (cid, options) => {
      if (first === null || !cid.equals(root)) return session.get(cid, options)
      const found = first
      first = null
      return found
    },
    sources: () => session.sources(),
    close: () => session.close(),
  }
}
