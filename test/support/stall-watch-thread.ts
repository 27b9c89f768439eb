import { openSync, writeSync } from 'node:fs'
import { isMainThread, parentPort, workerData } from 'node:worker_threads'

/** Places in the memory that the loop and its watcher share. */
export const BEAT = 0
export const LONGEST_MS = 1
export const HEARD = 2
export const READY = 3
export const STOP = 4

/** How long the watcher sleeps between two looks, and what each look without a beat in between counts for. */
const TICK_MS = 20

interface Watched {
  state: Int32Array<SharedArrayBuffer>
  report: string | undefined
}

/**
 * Runs in a thread of its own. Each tick without a beat of the loop adds to the stall, however late the tick itself
 * was: that is how the lateness of the machine is taken out.
 */
function watch({ state, report }: Watched): void {
  const file = report === undefined ? null : openSync(report, 'w')
  let last = Atomics.load(state, BEAT)
  let stalledMs = 0
  let reported = -1
  Atomics.store(state, READY, 1)
  parentPort?.postMessage('ready')
  while (Atomics.wait(state, STOP, 0, TICK_MS) === 'timed-out') {
    const beat = Atomics.load(state, BEAT)
    if (beat === last) {
      stalledMs += TICK_MS
      if (stalledMs > Atomics.load(state, LONGEST_MS)) Atomics.store(state, LONGEST_MS, stalledMs)
    } else {
      stalledMs = 0
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
