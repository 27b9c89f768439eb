import { openSync, readFileSync, writeSync } from 'node:fs'
import { isMainThread, parentPort, workerData } from 'node:worker_threads'

/** Places in the memory that the loop and its watcher share. */
export const BEAT = 0
export const LONGEST_MS = 1
export const HEARD = 2
export const READY = 3
export const STOP = 4

/** How long the watcher sleeps between two looks. */
const TICK_MS = 20

interface Watched {
  state: Int32Array<SharedArrayBuffer>
  report: string | undefined
}

/** How long the process's first thread, whose loop is watched, has wanted a core and had none; null where nobody says. */
function waitedMs(): number | null {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ')[1]) / 1e6
  } catch {
    return null
  }
}

/**
 * Time that goes by for the loop's thread, in milliseconds, and none while it waits for a core: a machine that is late is no
 * stall. Where the system does not tell, each look counts for its tick, however late it was.
 */
function clockOfLoop(): () => number {
  let ticks = 0
  return () => {
    const waited = waitedMs()
    ticks += TICK_MS
    return waited === null ? ticks : performance.now() - waited
  }
}

/** Runs in a thread of its own. What goes by without a beat of the loop is a stall. */
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
