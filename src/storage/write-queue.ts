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
  /** Writes that were in it. */
  taken: number
  /** The log may have it. */
  isInDoubt: boolean
}

/** What became of a write in a transaction that has been committed. */
interface Attempted {
  write: QueuedWrite
  value?: unknown
  error?: unknown
  isDone: boolean
}

export interface WriteQueueOptions {
  /** Called once, when the disk has failed a commit and no more is written. */
  onBroken?: (error: unknown) => void
  /**
   * Ways to make room, tried in turn when a commit finds the disk full, until it succeeds. Each returns whether it has
   * made any. What is in the batch is done again from the start.
   */
  makeRoom?: ReadonlyArray<() => Promise<boolean> | boolean>
  /** Moves the log into the database, elsewhere. Without it commits do that themselves. */
  checkpoints?: { run(): Promise<void> }
  /** Syncs the log, elsewhere. Without it durable commits do that themselves, while everything waits. */
  logSync?: { run(): Promise<void> }
  /** What batches are timed by, in milliseconds. Default: the clock of the process that only goes forward. */
  now?: () => number
}

/** A batch ends when it has taken this long, so that no transaction holds up the event loop. */
const BATCH_MS = 3
/** Pages of the log that are worth a checkpoint; and from where on writes wait for it, so that the log ends somewhere. */
const CHECKPOINT_PAGES = 1_000
const LONGEST_LOG_PAGES = 8_000

/**
 * The write side of the store, with group commit: what arrives together shares one transaction and, if any of it
 * asks to be durable, one sync, which the event loop does not wait for. One that throws undoes only itself: the others are
 * done again then, each in a savepoint of its own. Reads see what is committed before it is synced; whoever wrote it is
 * told after.
 */
export class WriteQueue {
  readonly #db: Database
  #waiting: QueuedWrite[] = []
  readonly #options: WriteQueueOptions
  /** While the log is synced, room is made, or a log that has grown too long is moved. */
  #paused: Promise<void> | null = null
  #checkpoint: Promise<void> | null = null
  #scheduled = false
  /** All that is waited for is the sync of writes that are patient. */
  #mayOvertake = false
  #broken: HoldfastError | null = null

  constructor(db: Database, options: WriteQueueOptions = {}) {
    this.#db = db
    this.#options = options
    if (options.checkpoints !== undefined) db.leaveCheckpoints()
    if (options.logSync !== undefined) db.setDurable(false)
  }

  /** Whether the disk has failed a commit. Nothing more is written then, until the database is opened anew. */
  get isBroken(): boolean {
    return this.#broken !== null
  }

  /**
   * Resolves with what `work` returned, once that is committed (`durable`: and synced).
   *
   * @param work called again where what it did was undone with others, so it changes nothing but the database: what else
   * is to follow it returns
   * @param options `committed` is called with it before anybody can read what was written; `patient` lets others go first:
   * what is not patient is committed at once while only what is patient is synced, and not with what has come before it
   * @throws HoldfastError `OUTCOME_UNKNOWN` if the disk fails the commit or its sync; `UNAVAILABLE` if it has failed before
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

  /** Resolves when everything queued so far is committed. */
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

  /** Puts first what is not patient. False if nothing is that might be committed by now. */
  #letOvertake(): boolean {
    if (!this.#mayOvertake) return false
    const urgent = this.#waiting.filter(({ patient }) => !patient)
    this.#waiting = [...urgent, ...this.#waiting.filter(({ patient }) => patient)]
    return urgent.length > 0
  }

  /** Returns what went wrong if the transaction itself failed: then nothing of the batch happened, and it still waits. */
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

  /** Commits a batch without savepoints. False if one of its writes has thrown: then nothing of it happened. */
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
   * Nothing is committed meanwhile, but once what overtakes: it would have to wait for the next sync, and so it shares
   * that one's commit.
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
    // Of two syncs at a time the other may have failed: what was before this in the log may be lost.
    for (const { write, isDone } of attempted) write.reject(isDone ? outcomeUnknown(failure) : broken)
  }

  /** Has a log that has grown moved into the database while writes go on; they wait where it has grown too long. */
  #moveLog(): void {
    const { checkpoints } = this.#options
    if (checkpoints === undefined) return
    const { pages, moved } = this.#db.logPages()
    if (pages - moved < CHECKPOINT_PAGES) return
    this.#checkpoint ??= checkpoints
      .run()
      .catch((error: unknown) => {
        // The others leave the log as it is.
        if (isDiskFailure(error)) this.#break(error)
      })
      .finally(() => {
        this.#checkpoint = null
      })
    if (pages >= LONGEST_LOG_PAGES) this.#pauseFor(this.#checkpoint)
  }

  /** @param ended does not reject */
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
   * After a sync that failed the kernel may have dropped what was to be written and report the next one as done, so
   * nothing that this process commits can be trusted any more. Opening the database again reads what is there.
   */
  #break(cause: unknown): void {
    // Without the cause: a sync that lacked room leaves a node that room alone does not mend.
    this.#broken = new HoldfastError('UNAVAILABLE', 'the disk has failed a write; the node has to be restarted')
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
