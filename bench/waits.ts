import { randomBytes } from 'node:crypto'
import { askAll } from './clients/node-client.ts'
import { median } from './report.ts'
import type { Service } from './services/service.ts'

const FILE_BYTES = 4 * 1024

export interface Waits {
  median: number
  longest: number
}

/** Uploads small files one by one while some work runs, and at least once. */
export async function uploadsDuring(service: Service, work: () => Promise<void>): Promise<Waits & { seconds: number }> {
  const times: number[] = []
  let isOver = false
  const files = (function* () {
    while (!isOver || times.length === 0) yield randomBytes(FILE_BYTES)
  })()
  const started = performance.now()
  const worked = work().then(() => (performance.now() - started) / 1_000)
  const over = worked
    .catch(() => undefined)
    .finally(() => {
      isOver = true
    })
  await Promise.all([askAll(service.upload('file'), files, 1, ms => times.push(ms)), over])
  return { seconds: await worked, median: median(times), longest: Math.max(...times) }
}

export async function idleUploads(service: Service, count: number): Promise<Waits> {
  const times: number[] = []
  await askAll(
    service.upload('file'),
    Array.from({ length: count }, () => randomBytes(FILE_BYTES)),
    1,
    ms => times.push(ms),
  )
  return { median: median(times), longest: Math.max(...times) }
}
