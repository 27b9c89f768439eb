import { readFileSync, readlinkSync } from 'node:fs'

/** Duration of one tick, the unit of processor times in `/proc`. It is the same on every Linux system. */
const TICK_MS = 10
/** Indexes of the fields that follow the thread's name in `stat`: the state, the user time and the system time. */
const STATE = 0
const USER = 11
const SYSTEM = 12

/** Returns the system's id of the calling thread, or 0 if there is none. */
export function ownThread(): number {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1))
  } catch {
    return 0
  }
}

/** @throws Error if the system has no `/proc/self/task/<thread>/stat` for the thread */
export function statOf(thread: number): string {
  return readFileSync(`/proc/self/task/${thread}/stat`, 'latin1')
}

/**
 * Measures how long a thread could have run. If it runs or waits for a processor, only its used processor time counts.
 * If it sleeps or the system has no `/proc`, all elapsed time counts.
 */
export class ThreadTime {
  readonly #read: () => string
  #last = 0

  /** @param read returns the text of the thread's `stat` file, or throws */
  constructor(read: () => string) {
    this.#read = read
  }

  /**
   * Returns the time since the last call during which the thread did not wait for a processor.
   *
   * @param elapsedMs time since the last call, which limits the result
   */
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
