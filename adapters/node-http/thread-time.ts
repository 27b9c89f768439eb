import { readFileSync, readlinkSync } from 'node:fs'

/** Unit of processor times in `/proc`, on every Linux. */
const TICK_MS = 10
/** Fields behind the name in `stat`, which may contain spaces: its state, and its times as a user and in the system. */
const STATE = 0
const USER = 11
const SYSTEM = 12

/** Returns the system's number of the calling thread; 0 where the system does not tell. */
export function ownThread(): number {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1))
  } catch {
    return 0
  }
}

/** Returns the `stat` of a thread of this process. @throws Error where the system has none */
export function statOf(thread: number): string {
  return readFileSync(`/proc/self/task/${thread}/stat`, 'latin1')
}

/**
 * Measures how long a thread could have run. While the thread waits for a processor only its own processor time counts.
 * Without `/proc` all time counts.
 */
export class ThreadTime {
  readonly #read: () => string
  #last = 0

  /** @param read returns the thread's `stat`, or throws */
  constructor(read: () => string) {
    this.#read = read
  }

  /** Returns the milliseconds since the last call, of `elapsedMs`, in which the thread ran or waited for something else. */
  since(elapsedMs: number): number {
    let fields: string[]
    try {
      const stat = this.#read()
      fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    } catch {
      return elapsedMs
    }
    const used = (Number(fields[USER]) + Number(fields[SYSTEM])) * TICK_MS
    const ran = used - this.#last
    this.#last = used
    return fields[STATE] === 'R' ? Math.min(ran, elapsedMs) : elapsedMs
  }
}
