import { parseArgs } from 'node:util'
import { tortureFleet } from './fleet.ts'
import { torture } from './torture.ts'

/** `npm run --silent torture -- --rounds N --seed S [--minutes M] [--fleet]`; with `--fleet` two nodes on one PostgreSQL. */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    seed: { type: 'string' },
    minutes: { type: 'string' },
    fleet: { type: 'boolean', default: false },
  },
})
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))
const minutes = values.minutes === undefined ? undefined : Number(values.minutes)
console.log(`seed ${seed}`)
const started = performance.now()
const { rounds, acknowledged } = await (values.fleet ? tortureFleet : torture)({
  rounds: Number(values.rounds),
  seed,
  minutes,
  progress: text => process.stderr.write(`${text}\n`),
})
const seconds = Math.round((performance.now() - started) / 1_000)
console.log(`${rounds} rounds, ${acknowledged} acknowledged requests, nothing lost, nothing left, ${seconds} s`)
