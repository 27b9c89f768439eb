import { Agent, request } from 'node:http'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'

/** The request that the thread repeats. */
export interface Probed {
  base: string
  /** Asked in turn. */
  paths: readonly string[]
  headers: Record<string, string>
}

/** Observations since the last report. */
export interface ProbeReport {
  asked: number
  longestMs: number
  /** Answer time that one request in a hundred exceeds. */
  p99Ms: number
  /** Longest delay of the thread's own event loop, which a busy machine causes. */
  ownMs: number
}

const PAUSE_MS = 5
const NANOSECONDS_PER_MS = 1e6

function summary(times: readonly number[]): Omit<ProbeReport, 'ownMs'> {
  const rising = times.toSorted((a, b) => a - b)
  const p99Ms = rising[Math.ceil(rising.length * 0.99) - 1] ?? Number.NaN
  return { asked: rising.length, longestMs: rising.at(-1) ?? 0, p99Ms }
}

async function probe({ base, paths, headers }: Probed): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ask = (path: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const outgoing = request(base + path, { agent, headers }, response => {
        response.resume().once('end', resolve).once('error', reject)
        if (response.statusCode !== 200) reject(new Error(`${path} was answered ${response.statusCode}`))
      })
      outgoing.once('error', reject)
      outgoing.end()
    })
  let isWanted = false
  parentPort?.on('message', () => {
    isWanted = true
  })
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  let times: number[] = []
  for (let i = 0; ; i++) {
    const began = performance.now()
    await ask(paths[i % paths.length] ?? '/')
    times.push(performance.now() - began)
    if (isWanted) {
      isWanted = false
      parentPort?.postMessage({ ...summary(times), ownMs: delay.max / NANOSECONDS_PER_MS } satisfies ProbeReport)
      delay.reset()
      times = []
    }
    await sleep(PAUSE_MS)
  }
}

await probe(workerData as Probed)
