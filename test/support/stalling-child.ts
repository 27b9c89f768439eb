/**
 * Blocks its event loop twice, by microtasks and by a computation, while the server's loop watch runs. Prints the log
 * and the metrics.
 */
import { PrometheusMetrics, watchLoop } from '../../adapters/node-http/index.ts'
import { underName } from '../../src/index.ts'

/** Processor time, since a wait for a processor is no stall. */
const HELD_MS = 1_500
const used = (): number => process.cpuUsage().user / 1_000
/** Rounds between two looks at the processor time, each of which is a system call. */
const ROUNDS = 10_000

const metrics = new PrometheusMetrics()
const ignore = (): void => {}
const warn = (fields: object, message: string): void => console.log(JSON.stringify({ ...fields, message }))
const end = watchLoop({ debug: ignore, info: ignore, warn, error: ignore }, metrics)
const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

await pause(1_000)
await underName('GET /files/:in-microtasks', async () => {
  for (const until = used() + HELD_MS; used() < until; ) for (let i = 0; i < ROUNDS; i++) await null
})
await pause(300)
underName('GET /files/:at-once', () => {
  for (const until = used() + HELD_MS; used() < until; ) for (let i = 0; i < ROUNDS; i++);
})
await pause(300)
for (const line of metrics.text().split('\n')) if (/^(holdfast_loop|nodejs_eventloop)/.test(line)) console.log(line)
await end()
