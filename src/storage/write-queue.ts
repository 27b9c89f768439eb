import { isDiskFull } from '../domain/disk-trouble.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { Database } from './database.ts'

interface QueuedWrite {
  work: () => unknown
  durable: boolean
  patient: boolean
  committed: ((value: unknown) => void) | undefined
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}

interface FailedBatch {
  error: unknown
  /** Writes in the failed batch. */
  taken: number
  /** True if the log may contain the batch. */
  isInDoubt: boolean
}

/** Outcome of a write in a committed transaction. */
interface Attempted {
  write: QueuedWrite
  value?: unknown
  error?: unknown
  isDone: boolean
}

export interface WriteQueueOptions {
  /** Called once, after the disk has failed a commit and writing has stopped. */
  onBroken?: (error: unknown) => void
  /**
   * Ways to make room on a full disk, tried in turn until the commit succeeds. Each returns true if it has freed any.
   * Then the whole batch runs again.
   */
  makeRoom?: ReadonlyArray<() => Promise<boolean> | boolean>
  /** Moves the log into the database in another thread. Without it, commits do so. */
  checkpoints?: { run(): Promise<void> }
  /** Syncs the log in another thread. Without it, durable commits do so and block the event loop. */
  logSync?: { run(): Promise<void> }
  /** Returns milliseconds by which batches are timed. Default: the monotonic clock of the process. */
  now?: () => number
}

/** Time limit of one batch, so that no transaction blocks the event loop. */
const BATCH_MS = 3
/** Log pages that start a checkpoint, and log pages at which writes wait for it, so that the log stays bounded. */
const CHECKPOINT_PAGES = 1_000
const LONGEST_LOG_PAGES = 8_000

/**
 * Write side of the store, with group commit. Writes that arrive together share one transaction. If one of them is
 * durable, they share one sync, which does not block the event loop. A write that throws undoes only itself: the batch
 * then runs again with a savepoint for each write. Readers see a commit before its sync; the writer gets its answer
 * after it.
 */
export class WriteQueue {
  readonly #db: Database
  #waiting: QueuedWrite[] = []
  readonly #options: WriteQueueOptions
  /** Pending while the log is synced, room is made, or an overlong log is moved. */
  #paused: Promise<void> | null = null
  #checkpoint: Promise<void> | null = null
  #scheduled = false
  /** True if the only pending work is the sync of patient writes. */
  #mayOvertake = false
  #broken: HoldfastError | null = null

  constructor(db: Database, options: WriteQueueOptions = {}) {
    this.#db = db
    this.#options = options
    if (options.checkpoints !== undefined) db.leaveCheckpoints()
    if (options.logSync !== undefined) db.setDurable(false)
  }

  /** True once the disk has failed a commit. All writes are refused until the database is opened again. */
  get isBroken(): boolean {
    return this.#broken !== null
  }

  /**
   * Resolves with the result of `work` after its commit, and with `durable` after its sync.
   *
   * @param work may run again after a rollback, so it changes only the database, and returns the data for other effects
   * @param options `committed` gets the result before any reader can see the write. With `patient`, other writes go
   * first: they are committed even during its sync
   * @throws HoldfastError `OUTCOME_UNKNOWN` if the disk fails the commit or its sync; `UNAVAILABLE` if it has failed
   * before
   */
  run<T>(work: () => T, options: { durable: boolean; patient?: boolean; committed?: (value: T) => void }): Promise<T> {
    if (this.#broken !== null) return Promise.reject(this.#broken)
    return new Promise<T>((resolve, reject) => {
      const committed = options.committed as ((value: unknown) => void) | undefined
      const settle = { resolve: resolve as (value: unknown) => void, reject }
      const { durable, patient = false } = options
      this.#waiting.push({ work, durable, patient, committed, ...settle })
      if (this.#paused === null || this.#mayOvertake) this.#schedule()
    })
  }

  /** Resolves when all queued writes are committed. */
  async settled(): Promise<void> {
    while (this.#paused !== null || this.#waiting.length > 0) {
      await (this.#paused ?? this.run(() => undefined, { durable: false }))
    }
    await this.#checkpoint
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      if (this.#paused !== null && !this.#letOvertake()) return
      const failed = this.#commitBatch()
      if (failed === null) this.#moveLog()
      else this.#handle(failed)
      if (this.#waiting.length > 0 && this.#paused === null) this.#schedule()
    })
  }

  /** Moves urgent writes to the front of the queue. Returns false if none may be committed now. */
  #letOvertake(): boolean {
    if (!this.#mayOvertake) return false
    const urgent = this.#waiting.filter(({ patient }) => !patient)
    this.#waiting = [...urgent, ...this.#waiting.filter(({ patient }) => patient)]
    return urgent.length > 0
  }

  /** Returns the failure of the transaction itself: the whole batch was rolled back and is still queued. */
  #commitBatch(): FailedBatch | null {
    const { logSync, now = () => performance.now() } = this.#options
    const overtakes = this.#mayOvertake
    let attempted: Attempted[] = []
    let taken = 0
    let isInDoubt = false
    const transact = (attempt: (write: QueuedWrite) => Attempted): void => {
      attempted = []
      taken = 0
      isInDoubt = false
      const until = now() + BATCH_MS
      for (const write of this.#waiting) {
        if (overtakes && write.patient) break
        taken++
        attempted.push(attempt(write))
        if (now() > until) break
      }
      isInDoubt = true
    }
    try {
      if (logSync === undefined) this.#db.setDurable(this.#waiting.some(write => write.durable))
      // A savepoint costs as much as a small write, and hardly any write throws.
      if (!this.#isDoneAtOnce(transact)) this.#db.transaction(() => transact(write => this.#attempt(write)))
    } catch (error) {
      return { error, taken: Math.max(taken, 1), isInDoubt }
    }
    this.#waiting.splice(0, taken)
    for (const { write, value, isDone } of attempted) if (isDone) write.committed?.(value)
    if (logSync !== undefined && attempted.some(({ write }) => write.durable)) {
      this.#pauseFor(this.#sync(logSync, attempted))
      this.#mayOvertake = attempted.every(({ write }) => write.patient)
    } else settle(attempted)
    return null
  }

  /** Commits a batch without savepoints. Returns false if a write threw: the whole batch was rolled back. */
  #isDoneAtOnce(transact: (attempt: (write: QueuedWrite) => Attempted) => void): boolean {
    let hasThrown = false
    const attempt = (write: QueuedWrite): Attempted => {
      try {
        return { write, value: write.work(), isDone: true }
      } catch (error) {
        hasThrown = this.#db.inTransaction && !isDiskFull(error)
        throw error
      }
    }
    try {
      this.#db.transaction(() => transact(attempt))
      return true
    } catch (error) {
      if (hasThrown) return false
      throw error
    }
  }

  /**
   * Syncs a committed batch. Until then only urgent writes are committed: others would wait for the next sync anyway.
   */
  async #sync(logSync: { run(): Promise<void> }, attempted: readonly Attempted[]): Promise<void> {
    let failure: unknown
    try {
      await logSync.run()
    } catch (error) {
      failure = error
      this.#break(error)
    }
    const broken = this.#broken
    if (broken === null) return settle(attempted)
    // If a concurrent sync failed, the earlier part of the log may be lost.
    for (const { write, isDone } of attempted) write.reject(isDone ? outcomeUnknown(failure) : broken)
  }

  /** Starts a checkpoint of a grown log. Writes go on, and wait only at {@link LONGEST_LOG_PAGES}. */
  #moveLog(): void {
    const { checkpoints } = this.#options
    if (checkpoints === undefined) return
    const { pages, moved } = this.#db.logPages()
    if (pages - moved < CHECKPOINT_PAGES) return
    this.#checkpoint ??= checkpoints
      .run()
      .catch((error: unknown) => {
        // Other errors leave the log unchanged.
        if (isDiskFailure(error)) this.#break(error)
      })
      .finally(() => {
        this.#checkpoint = null
      })
    if (pages >= LONGEST_LOG_PAGES) this.#pauseFor(this.#checkpoint)
  }

  /** @param ended never rejects */
  #pauseFor(ended: Promise<void>): void {
    this.#mayOvertake = false
    const paused = Promise.all([this.#paused, ended]).then(() => {
      if (this.#paused !== paused) return
      this.#paused = null
      this.#mayOvertake = false
      if (this.#waiting.length > 0) this.#schedule()
    })
    this.#paused = paused
  }

  #handle(failed: FailedBatch): void {
    if (isDiskFull(failed.error) && this.#options.makeRoom !== undefined) {
      this.#pauseFor(this.#retry(failed, this.#options.makeRoom))
    } else {
      this.#fail(failed)
    }
  }

  async #retry(failed: FailedBatch, makeRoom: NonNullable<WriteQueueOptions['makeRoom']>): Promise<void> {
    let latest = failed
    for (const make of makeRoom) {
      const hasMadeRoom = await Promise.resolve()
        .then(make)
        .catch(() => false)
      if (!hasMadeRoom) continue
      const again = this.#commitBatch()
      if (again === null) return
      latest = again
      if (!isDiskFull(latest.error)) break
    }
    this.#fail(latest)
  }

  #fail({ error, taken, isInDoubt }: FailedBatch): void {
    const reason = isInDoubt && isDiskFailure(error) ? outcomeUnknown(error) : error
    for (const write of this.#waiting.splice(0, taken)) write.reject(reason)
    if (isDiskFailure(error)) this.#break(error)
  }

  /**
   * Refuses all writes from now on. After a failed sync the kernel may discard the data and report the next sync as
   * successful, so no later commit can be trusted. A restart reads what the disk has.
   */
  #break(cause: unknown): void {
    // Without the cause: after a failed sync, free space alone does not repair the node.
    this.#broken = new HoldfastError('UNAVAILABLE', 'the disk has failed a write; restart the node')
    for (const write of this.#waiting.splice(0)) write.reject(this.#broken)
    this.#options.onBroken?.(cause)
  }

  #attempt(write: QueuedWrite): Attempted {
    try {
      return { write, value: this.#db.transaction(write.work), isDone: true }
    } catch (error) {
      if (!this.#db.inTransaction || isDiskFull(error)) throw error
      return { write, error, isDone: false }
    }
  }
}

function settle(attempted: readonly Attempted[]): void {
  for (const { write, value, error, isDone } of attempted) {
    if (isDone) write.resolve(value)
    else write.reject(error)
  }
}

function outcomeUnknown(cause: unknown): HoldfastError {
  return new HoldfastError('OUTCOME_UNKNOWN', 'the disk failed the write: a restart shows its outcome', { cause })
}

function isDiskFailure(error: unknown): boolean {
  return (
    !isDiskFull(error) && error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_IOERR')
  )
}
