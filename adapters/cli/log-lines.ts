import { write, writeSync } from 'node:fs'
import { pino } from 'pino'
import { systemClock } from '../../src/domain/clock.ts'

export interface LogFiles {
  write: typeof write
  writeSync: (fd: number, bytes: Uint8Array) => number
}

/** Maximum time in ms that lines wait for a joint write. */
const GATHER_MS = 20
/** Number of waiting characters that starts a write at once. */
const BATCH = 64 * 1024
/** Number of characters and bytes that may wait for a slow reader of the log. Further lines are dropped. */
const MOST_WAITING = 16 * 1024 ** 2
/** Pause in ms between attempts to write to a full pipe, and maximum number of attempts at exit. */
const FULL_PIPE_MS = 10
const LAST_TRIES = 100
const NOTHING = Buffer.alloc(0)
/** Lowest level that is written without delay: pino's `warn`. */
const URGENT = 40

/**
 * Destination of pino's lines.
 * Lines below `warn` are joined and written off the event loop. A warning or error is written at once, after the
 * earlier lines. At exit, the remaining lines are written synchronously. A killed process loses at most its last {@link
 * GATHER_MS} ms of lines below `warn`.
 */
export class LogLines {
  /** Makes pino set `lastLevel` before it writes each line. */
  readonly [pino.symbols.needsMetadataGsym] = true
  lastLevel = 0
  readonly #fd: number
  readonly #files: LogFiles
  /** Lines that are being written, or that a full pipe refused. */
  #batch: Buffer = NOTHING
  #waiting: string[] = []
  /** Number of characters in the waiting lines. */
  #length = 0
  #endWait: (() => void) | null = null
  #writing = false
  #broken = false

  /** @param fd file descriptor to write to, which the caller closes */
  constructor(fd: number, files: LogFiles = { write, writeSync }) {
    this.#fd = fd
    this.#files = files
  }

  write(line: string): void {
    if (this.#broken || this.#length + this.#batch.length > MOST_WAITING) return
    this.#waiting.push(line)
    this.#length += line.length
    if (this.lastLevel >= URGENT || this.#length >= BATCH) this.#flush()
    else this.#flushIn(GATHER_MS)
  }

  /** Writes the waiting lines synchronously. An asynchronous write that is already running may finish later. */
  flushSync(): void {
    let bytes = this.#writing ? this.#take() : Buffer.concat([this.#batch, this.#take()])
    this.#batch = NOTHING
    for (let tries = 0; bytes.length > 0 && tries < LAST_TRIES; ) {
      try {
        bytes = bytes.subarray(this.#files.writeSync(this.#fd, bytes))
      } catch (error) {
        if (!isFull(error)) return
        tries++
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FULL_PIPE_MS)
      }
    }
  }

  #flushIn(ms: number): void {
    this.#endWait ??= systemClock.after(ms, () => this.#flush())
  }

  #flush(): void {
    if (this.#writing) return
    this.#endWait?.()
    this.#endWait = null
    if (this.#batch.length === 0) this.#batch = this.#take()
    if (this.#batch.length > 0) this.#write()
  }

  #take(): Buffer {
    const bytes = Buffer.from(this.#waiting.join(''))
    this.#waiting = []
    this.#length = 0
    return bytes
  }

  #write(): void {
    this.#writing = true
    const bytes = this.#batch
    this.#files.write(this.#fd, bytes, 0, bytes.length, null, (error, written) => {
      this.#batch = error === null && written < bytes.length ? bytes.subarray(written) : NOTHING
      if (this.#batch.length > 0) return this.#write()
      this.#writing = false
      if (isFull(error)) {
        this.#batch = bytes
        this.#flushIn(FULL_PIPE_MS)
      } else {
        // A broken pipe drops all waiting lines. Another error, such as a full disk, drops only the current batch.
        this.#broken = error?.code === 'EPIPE'
        if (this.#broken) this.#take()
        else this.#flush()
      }
    })
  }
}

function isFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EAGAIN'
}
