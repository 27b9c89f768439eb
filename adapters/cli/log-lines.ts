import { write, writeSync } from 'node:fs'
import { pino } from 'pino'

/** What of `node:fs` writes the lines. */
export interface LogFiles {
  write: typeof write
  writeSync: (fd: number, bytes: Uint8Array) => number
}

/** For how long a line may wait for others, in milliseconds. */
const GATHER_MS = 20
/** Characters of lines that are worth a write of their own. */
const BATCH = 64 * 1024
/** Characters that wait at most for whoever takes the log; what comes beyond them is not written. */
const MOST_WAITING = 16 * 1024 ** 2
/** How long a pipe that is full is left alone, and how often at most before the process ends. */
const FULL_PIPE_MS = 10
const LAST_TRIES = 100
const NOTHING = Buffer.alloc(0)
/** The lowest level that waits for nobody: pino's `warn`. */
const URGENT = 40

/**
 * Where pino writes its lines: those of requests are gathered and written together, off the event loop, so that a busy
 * server makes one write for many. Warnings and errors go out at once, with what came before them. What is gathered
 * when the process exits is written then; an end that runs no code, by `kill -9` or in native code, loses at most the
 * last {@link GATHER_MS} milliseconds of lines that are no warning.
 */
export class LogLines {
  /** Has pino set `lastLevel` before each line. */
  readonly [pino.symbols.needsMetadataGsym] = true
  lastLevel = 0
  readonly #fd: number
  readonly #files: LogFiles
  /** The rest of a batch that the pipe had no room for. */
  #rest: Buffer = NOTHING
  #waiting: string[] = []
  /** Characters of the lines that wait. */
  #length = 0
  #timer: NodeJS.Timeout | null = null
  #writing = false
  /** Nobody reads any more. */
  #broken = false

  /** @param fd what is written to; it stays the caller's */
  constructor(fd: number, files: LogFiles = { write, writeSync }) {
    this.#fd = fd
    this.#files = files
  }

  write(line: string): void {
    if (this.#broken || this.#length > MOST_WAITING) return
    this.#waiting.push(line)
    this.#length += line.length
    if (this.lastLevel >= URGENT || this.#length >= BATCH) this.#flush()
    else this.#flushIn(GATHER_MS)
  }

  /** Writes what waits before it returns, for a process that ends; what is being written already may come after it. */
  flushSync(): void {
    let bytes = this.#take()
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
    this.#timer ??= setTimeout(() => this.#flush(), ms).unref()
  }

  #flush(): void {
    if (this.#writing) return
    const bytes = this.#take()
    if (bytes.length > 0) this.#write(bytes)
  }

  #take(): Buffer {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    const bytes = Buffer.concat([this.#rest, Buffer.from(this.#waiting.join(''))])
    this.#rest = NOTHING
    this.#waiting = []
    this.#length = 0
    return bytes
  }

  #write(bytes: Buffer): void {
    this.#writing = true
    this.#files.write(this.#fd, bytes, 0, bytes.length, null, (error, written) => {
      if (error === null && written < bytes.length) return this.#write(bytes.subarray(written))
      this.#writing = false
      if (isFull(error)) {
        this.#rest = bytes
        this.#flushIn(FULL_PIPE_MS)
      } else {
        // What could not be written otherwise, as on a full disk, is left out, and the next is tried.
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
