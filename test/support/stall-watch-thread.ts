import { openSync, readFileSync, writeSync } from 'node:fs'
import { isMainThread, parentPort, workerData } from 'node:worker_threads'

/** Indices into the memory that the loop and its watcher share. */
export const BEAT = 0
export const LONGEST_MS = 1
export const HEARD = 2
export const READY = 3
export const STOP = 4

/** Interval between two checks of the watcher. */
const TICK_MS = 20

interface Watched {
  state: Int32Array<SharedArrayBuffer>
  report: string | undefined
}

/** Returns how long the main thread, whose loop is watched, has waited for a core, if the system reports it. */
function waitedMs(): number | null {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ')[1]) / 1e6
  } catch {
    return null
  }
}

/**
 * Returns a clock in ms that stops while the loop's thread waits for a core: a busy machine is no stall. If the system
 * does not report that, each check counts as one tick, however late it ran.
 */
function clockOfLoop(): () => number {
  let ticks = 0
  return () => {
    const waited = waitedMs()
    ticks += TICK_MS
    return waited === null ? ticks : performance.now() - waited
  }
}

/** Runs in its own thread. Records how long the loop goes without a beat. */
function watch({ state, report }: Watched): void {
  const file = report === undefined ? null : openSync(report, 'w')
  let last = Atomics.load(state, BEAT)
  const now = clockOfLoop()
  let beatAt = now()
  let reported = -1
  Atomics.store(state, READY, 1)
  parentPort?.postMessage('ready')
  while (Atomics.wait(state, STOP, 0, TICK_MS) === 'timed-out') {
    const beat = Atomics.load(state, BEAT)
    const at = now()
    if (beat === last) {
      if (at - beatAt > Atomics.load(state, LONGEST_MS)) Atomics.store(state, LONGEST_MS, at - beatAt)
    } else {
      beatAt = at
      last = beat
      Atomics.add(state, HEARD, 1)
    }
    const longest = Atomics.load(state, LONGEST_MS)
    if (file !== null && longest !== reported) {
      writeSync(file, `${longest}\n`.padEnd(16), 0)
      reported = longest
    }
  }
}

if (!isMainThread && workerData !== null && 'state' in workerData) watch(workerData as Watched)
