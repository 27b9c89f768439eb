import { parseArgs } from 'node:util'
import { fuzz } from './fuzz.ts'

/** `npm run --silent fuzz -- --requests N --seed S --postgres`. */
const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '10000' },
    seed: { type: 'string' },
    postgres: { type: 'boolean', default: false },
  },
})
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))
console.log(`seed ${seed}`)
const started = performance.now()
const progress = (text: string) => process.stderr.write(`${text}\n`)
const { requests, statuses, longestStallMs, growth } = await fuzz({
  ...{ requests: Number(values.requests), seed, progress },
  postgres: values.postgres,
})
const seconds = Math.round((performance.now() - started) / 1_000)
const counts = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`)
console.log(`${requests} requests in ${seconds} s; ${counts.join(', ')}`)
console.log(
  `longest stall ${longestStallMs} ms, memory ${Math.round(growth.bytes / 2 ** 20)} MiB, open files ${growth.files}`,
)
