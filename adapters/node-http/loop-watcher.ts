// The thread that watches the event loop of the main one. It counts only time in which both threads could run: a
// process that was stopped, or a machine without a free processor, is no stall.
import { writeSync } from 'node:fs'
import { Session } from 'node:inspector'
import { hostname } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import type { Stall, WatcherData } from './loop-watch.ts'
import { statOf, ThreadTime } from './thread-time.ts'

const { beats, lookMs, stallMs, aloudMs, question } = workerData as WatcherData
const STDERR = 2

/** The main thread has the number of the process. */
const time = new ThreadTime(() => statOf(process.pid))
let lastBeat = Atomics.load(beats, 0)
let lastLook = performance.now()
let held = 0
let asked = false
let aloud = false
let work: string | null = null

setInterval(() => {
  const now = performance.now()
  const elapsed = Math.min(now - lastLook, 2 * lookMs)
  lastLook = now
  const beat = Atomics.load(beats, 0)
  if (beat !== lastBeat) {
    lastBeat = beat
    if (held >= stallMs) parentPort?.postMessage({ ms: Math.round(held), work } satisfies Stall)
    held = 0
    asked = false
    aloud = false
    work = null
    return
  }
  held += time.since(elapsed)
  if (held >= stallMs && !asked) {
    asked = true
    askForWork()
  }
  // A loop that stays blocked logs nothing by itself.
  if (held >= aloudMs && !aloud) {
    aloud = true
    const msg = 'the event loop has been held and is not given back'
    const line = {
      level: 50,
      time: Date.now(),
      pid: process.pid,
      hostname: hostname(),
      ms: Math.round(held),
      work,
      msg,
    }
    writeSync(STDERR, `${JSON.stringify(line)}\n`)
  }
}, lookMs)

/** The inspector interrupts the main thread, and so learns the name of the running work. */
function askForWork(): void {
  const session = new Session()
  try {
    session.connectToMainThread()
  } catch {
    // Without an inspector the stall is reported without a name.
    return
  }
  session.post('Runtime.evaluate', { expression: question, returnByValue: true }, (_, answer) => {
    const value: unknown = answer?.result.value
    if (typeof value === 'string') work = value
    session.disconnect()
  })
}
