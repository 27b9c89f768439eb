import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'

/** Observations since the last report. */
export interface ProbeReport {
  asked: number
  longestMs: number
}

const PAUSE_MS = 5

async function probe(url: string): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ask = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const outgoing = request(url, { agent }, response => response.resume().once('end', resolve).once('error', reject))
      outgoing.once('error', reject)
      outgoing.end()
    })
  let isWanted = false
  parentPort?.on('message', () => {
    isWanted = true
  })
  let seen: ProbeReport = { asked: 0, longestMs: 0 }
  for (;;) {
    const began = performance.now()
    await ask()
    seen = { asked: seen.asked + 1, longestMs: Math.max(seen.longestMs, performance.now() - began) }
    if (isWanted) {
      isWanted = false
      parentPort?.postMessage(seen)
      seen = { asked: 0, longestMs: 0 }
    }
    await sleep(PAUSE_MS)
  }
}

await probe(workerData as string)
