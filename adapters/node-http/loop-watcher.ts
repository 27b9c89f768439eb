// A stall counts only the time in which both threads could run. A process that the system stopped has no stall.
import { writeSync } from 'node:fs'
import { Session } from 'node:inspector'
import { hostname } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../src/domain/clock.ts'
import { everyMs } from './loop-time.ts'
import type { Stall, WatcherData } from './loop-watch.ts'
import { statOf, ThreadTime } from './thread-time.ts'

const { beats, lookMs, stallMs, aloudMs, question } = workerData as WatcherData
const STDERR = 2

const time = new ThreadTime(() => statOf(process.pid))
let lastBeat = Atomics.load(beats, 0)
let held = 0
let asked = false
let aloud = false
let work: string | null = null

function look(elapsedMs: number): void {
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
  held += time.since(Math.min(elapsedMs, 2 * lookMs))
  if (held >= stallMs && !asked) {
    asked = true
    askForWork()
  }
  // The main thread cannot log a stall while its event loop is blocked.
  if (held >= aloudMs && !aloud) {
    aloud = true
    const msg = 'the event loop has been held and is not given back'
    const line = {
      level: 50,
      time: systemClock.now(),
      pid: process.pid,
      hostname: hostname(),
      ms: Math.round(held),
      work,
      msg,
    }
    writeSync(STDERR, `${JSON.stringify(line)}\n`)
  }
}

everyMs(lookMs, look, { keepsAlive: true })

/** Asks through the inspector, which can interrupt the main thread although its event loop is blocked. */
function askForWork(): void {
  const session = new Session()
  try {
    session.connectToMainThread()
  } catch {
    return
  }
  session.post('Runtime.evaluate', { expression: question, returnByValue: true }, (_, answer) => {
    const value: unknown = answer?.result.value
    if (typeof value === 'string') work = value
    session.disconnect()
  })
}
