import { HoldfastError } from '../../domain/errors.ts'

const RETRY_SECONDS = 5

/** The part of one upload. */
export interface HeldPart {
  /**
   * @throws HoldfastError `DIRECTORY_TOO_LARGE` if the upload alone needs too much memory; `UNAVAILABLE` with
   * `retryAfter` if others hold it
   */
  take(bytes: number): void
  /** Gives back everything that was taken. */
  free(): void
}

/**
 * Memory that uploads hold until they end, such as the names of a directory. No upload waits for it: uploads that hold
 * a part and wait for more could wait for each other.
 */
export class HeldMemory {
  #limit: number
  #held = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  limitTo(bytes: number): void {
    this.#limit = Math.min(this.#limit, bytes)
  }

  get held(): number {
    return this.#held
  }

  part(): HeldPart {
    let own = 0
    return {
      take: bytes => {
        if (own + bytes > this.#limit) throw tooLarge()
        if (this.#held + bytes > this.#limit) throw busy()
        own += bytes
        this.#held += bytes
      },
      free: () => {
        this.#held -= own
        own = 0
      },
    }
  }
}

/** Bound for processes with much memory. V8 limits their heaps, too. */
const MOST_BYTES = 1024 ** 3

/** Memory for the names of directories in all uploads of the process. */
export const directoryMemory = new HeldMemory(MOST_BYTES)

function tooLarge(): HoldfastError {
  return new HoldfastError('DIRECTORY_TOO_LARGE', 'the names in the directory need more memory than this node has')
}

function busy(): HoldfastError {
  return new HoldfastError('UNAVAILABLE', 'the node has no memory left for the names of another directory', {
    details: { retryAfter: RETRY_SECONDS },
  })
}
