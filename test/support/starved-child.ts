/** Watches its event loop while its main thread waits for a processor. Prints what is logged. */
import { getPriority, setPriority } from 'node:os'
import { Worker } from 'node:worker_threads'
import { watchLoop } from '../../adapters/node-http/index.ts'

const HOGS = 24
/** Long enough for the log to be written, and for a wait longer than the stalls that are logged. */
const STARVED_MS = 4_000
const LONGEST_MS = 30_000
const ENOUGH_MS = 250
/** The lowest; on Linux it is that of the calling thread alone. */
const LAST = 19

const ignore = (): void => {}
const warn = (fields: object, message: string): void => console.log(JSON.stringify({ ...fields, message }))
const end = watchLoop({ debug: ignore, info: ignore, warn, error: ignore })
const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))
const hogs = Array.from({ length: HOGS }, () => new Worker(new URL('data:text/javascript,for(;;);')))
await pause(1_000)
const first = getPriority()
setPriority(LAST)
let longest = 0
const begun = performance.now()
for (let last = begun; last < begun + (longest > ENOUGH_MS ? STARVED_MS : LONGEST_MS); ) {
  await pause(10)
  const now = performance.now()
  longest = Math.max(longest, now - last)
  last = now
}
console.log(JSON.stringify({ longest: Math.round(longest) }))
try {
  setPriority(first)
} catch {
  // Only root may raise a priority. For others the hogs end more slowly.
}
for (const hog of hogs) await hog.terminate()
await end()
