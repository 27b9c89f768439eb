import { Agent, request } from 'node:http'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'

/** The request that the thread repeats. */
export interface Probed {
  base: string
  path: string
  headers: Record<string, string>
}

/** Observations since the last report. */
export interface ProbeReport {
  asked: number
  longestMs: number
  /** Longest delay of the thread's own event loop, which a busy machine causes. */
  ownMs: number
}

const PAUSE_MS = 5
const NANOSECONDS_PER_MS = 1e6

async function probe({ base, path, headers }: Probed): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ask = (): Promise<void> =>
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
  let seen = { asked: 0, longestMs: 0 }
  for (;;) {
    const began = performance.now()
    await ask()
    seen = { asked: seen.asked + 1, longestMs: Math.max(seen.longestMs, performance.now() - began) }
    if (isWanted) {
      isWanted = false
      parentPort?.postMessage({ ...seen, ownMs: delay.max / NANOSECONDS_PER_MS } satisfies ProbeReport)
      delay.reset()
      seen = { asked: 0, longestMs: 0 }
    }
    await sleep(PAUSE_MS)
  }
}

await probe(workerData as Probed)
