import { loopTime } from '../concurrency/turns.ts'
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
  taken: number
  /** True if the log may contain the batch. */
  isInDoubt: boolean
}

interface Attempted {
  write: QueuedWrite
  value?: unknown
  error?: unknown
  isDone: boolean
}

export interface WriteQueueOptions {
  /** Called once, after the disk has failed a commit and the queue has stopped writing. */
  onBroken?: (error: unknown) => void
  /**
   * Functions that free space on a full disk, called in order until the commit succeeds. The batch runs again after a
   * function that returns true.
   */
  makeRoom?: ReadonlyArray<() => Promise<boolean> | boolean>
  /** Runs checkpoints in another thread. Without this option, commits run the checkpoints. */
  checkpoints?: { run(): Promise<void> }
  /** Syncs the log in another thread. Without this option, durable commits block the event loop. */
  logSync?: { run(): Promise<void> }
  /** Clock in ms that measures how long a batch holds the event loop. Default: `loopTime`. */
  now?: () => number
}

/** Limits how long one transaction blocks the event loop. */
const BATCH_MS = 3
/** Numbers of log pages at which a checkpoint starts, and at which writes wait until the checkpoint ends. */
const CHECKPOINT_PAGES = 1_000
const LONGEST_LOG_PAGES = 8_000

/**
 * Runs all writes of a database. Writes that arrive together share one transaction and at most one sync.
 * If a write throws, only this write is undone: the batch runs again with a savepoint for each write.
 * Readers see a commit before its sync. The caller of a durable write gets the result after the sync.
 */
export class WriteQueue {
  readonly #db: Database
  #waiting: QueuedWrite[] = []
  readonly #options: WriteQueueOptions
  /** Pending during a sync, while space is being freed, and while the log is too long. */
  #paused: Promise<void> | null = null
  #checkpoint: Promise<void> | null = null
  #scheduled = false
  /** True if the queue waits only for the sync of patient writes. Other writes may then be committed first. */
  #mayOvertake = false
  #broken: HoldfastError | null = null

  constructor(db: Database, options: WriteQueueOptions = {}) {
    this.#db = db
    this.#options = options
    if (options.checkpoints !== undefined) db.leaveCheckpoints()
    if (options.logSync !== undefined) db.setDurable(false)
  }

  /** True after the disk has failed a commit. The database must then be opened again. */
  get isBroken(): boolean {
    return this.#broken !== null
  }

  /**
   * Runs `work` in a transaction. Resolves with its result after the commit, or after the sync if `durable` is true.
   *
   * @param work may run again after a rollback, so it changes only the database
   * @param options.committed called before any reader can see the write
   * @param options.patient true to commit other writes first, even during the sync of this write
   * @throws HoldfastError `OUTCOME_UNKNOWN` if the disk fails the commit or its sync; `UNAVAILABLE` if the disk has
   *   failed an earlier write
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

  /** Resolves when all queued writes are committed and no checkpoint is running. */
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

  /** Moves urgent writes to the front. Returns false if no write may be committed now. */
  #letOvertake(): boolean {
    if (!this.#mayOvertake) return false
    const urgent = this.#waiting.filter(({ patient }) => !patient)
    this.#waiting = [...urgent, ...this.#waiting.filter(({ patient }) => patient)]
    return urgent.length > 0
  }

  /** Commits the next writes in one transaction. The writes of a failed batch stay queued. */
  #commitBatch(): FailedBatch | null {
    const { logSync, now = loopTime } = this.#options
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
      // A savepoint costs as much as a small write, and writes rarely throw.
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

  /** Commits a batch without savepoints. Returns false if a write threw, which rolls the batch back. */
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

  /** Syncs a batch. Meanwhile commits only urgent writes. */
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
    // If a concurrent sync has failed, the part of the log before this batch may be lost.
    for (const { write, isDone } of attempted) write.reject(isDone ? outcomeUnknown(failure) : broken)
  }

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

  /** @param ended must never reject */
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
   * Refuses all further writes. After a failed sync, the kernel may discard the data and report the next sync as
   * successful.
   */
  #break(cause: unknown): void {
    // The error omits the cause, because a full disk would suggest that free space alone repairs the node.
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
