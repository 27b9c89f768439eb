import { parseArgs } from 'node:util'
import { tortureElsewhere } from './elsewhere.ts'
import { tortureFleet } from './fleet.ts'
import { torture } from './torture.ts'

/**
 * `npm run --silent torture -- --rounds N --seed S [--minutes M] [--fleet] [--cluster]`; with `--fleet` two nodes on one PostgreSQL,
 * with `--cluster` one whose cluster another one keeps.
 */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    seed: { type: 'string' },
    minutes: { type: 'string' },
    fleet: { type: 'boolean', default: false },
    cluster: { type: 'boolean', default: false },
  },
})
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))
const minutes = values.minutes === undefined ? undefined : Number(values.minutes)
console.log(`seed ${seed}`)
const run = values.fleet ? tortureFleet : values.cluster ? tortureElsewhere : torture
const started = performance.now()
const { rounds, acknowledged } = await run({
  rounds: Number(values.rounds),
  seed,
  minutes,
  progress: text => process.stderr.write(`${text}\n`),
})
const seconds = Math.round((performance.now() - started) / 1_000)
console.log(`${rounds} rounds, ${acknowledged} acknowledged requests, nothing lost, nothing left, ${seconds} s`)
