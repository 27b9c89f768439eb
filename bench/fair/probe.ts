// A program: one client that repeats a request with pauses, and reports its answer times and its own delay.
import { Agent } from 'node:http'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { ask, type Repeated } from './ask.ts'

/** In ms. `own` is the delay of the program's own event loop, which a busy machine causes. */
export interface ProbeTimes {
  p50: number
  p99: number
  own99: number
}

const PAUSE_MS = 3
const LEAST = 5
const NANOSECONDS = 1e6

const { seconds, ...repeated } = JSON.parse(process.argv[2] ?? '') as Repeated & { seconds: number }
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
const delay = monitorEventLoopDelay({ resolution: 1 })
const times: number[] = []
await ask(agent, repeated)
delay.enable()
const end = performance.now() + seconds * 1_000
while (performance.now() < end || times.length < LEAST) {
  const began = performance.now()
  await ask(agent, repeated)
  times.push(performance.now() - began)
  await sleep(PAUSE_MS)
}
agent.destroy()
times.sort((a, b) => a - b)
const at = (share: number): number => times[Math.floor((times.length - 1) * share)] ?? 0
const found: ProbeTimes = { p50: at(0.5), p99: at(0.99), own99: delay.percentile(99) / NANOSECONDS }
console.log(JSON.stringify(found))
