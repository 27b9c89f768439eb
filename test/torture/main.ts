import { parseArgs } from 'node:util'
import { openPlace } from './clusters/places.ts'
import { torturePlace } from './clusters/torture.ts'
import { ALL_BLOWS } from './fleet/blows.ts'
import { tortureFleet } from './fleet/fleet.ts'
import { tortureRemoteNode } from './remote-node.ts'
import { type Tortured, type TortureOptions, torture } from './torture.ts'

/**
 * Runs a torture test: `npm run --silent torture -- --rounds N --seed S [--minutes M] [--fleet [--nodes N] [--copies N] [--only TEXT]]
 * [--cluster [KIND]] [--postgres]`.
 *
 * `--fleet` runs three nodes on one PostgreSQL, or up to five, which keep one copy of each content or more.
 *
 * `--only` selects failures by their names.
 *
 * `--cluster` has the clusters kept by another node (`holdfast`), a Kubo (`kubo`) or an IPFS Cluster (`ipfs-cluster`).
 * `--postgres` puts the catalogue into PostgreSQL.
 */
// `--cluster` without a kind means another Holdfast node.
const args = process.argv.slice(2).flatMap((arg, i, all) => {
  const next = all[i + 1] ?? '--'
  return arg === '--cluster' && next.startsWith('--') ? [arg, 'holdfast'] : [arg]
})
const { values } = parseArgs({
  args,
  options: {
    rounds: { type: 'string', default: '20' },
    seed: { type: 'string' },
    minutes: { type: 'string' },
    fleet: { type: 'boolean', default: false },
    nodes: { type: 'string', default: '3' },
    copies: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    cluster: { type: 'string' },
    postgres: { type: 'boolean', default: false },
  },
})
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))
const minutes = values.minutes === undefined ? undefined : Number(values.minutes)
console.log(`seed ${seed}`)
const run = tortureOf()
const started = performance.now()
const { rounds, acknowledged } = await run({
  rounds: Number(values.rounds),
  seed,
  minutes,
  progress: text => process.stderr.write(`${text}\n`),
})
const seconds = Math.round((performance.now() - started) / 1_000)
console.log(`${rounds} rounds, ${acknowledged} acknowledged requests, nothing lost, nothing left, ${seconds} s`)

function tortureOf(): (options: TortureOptions) => Promise<Tortured> {
  const { fleet, cluster, postgres } = values
  if (fleet) {
    const blows = ALL_BLOWS.filter(blow => blow.includes(values.only))
    const size = { nodes: Number(values.nodes), copies: Number(values.copies) }
    return options => tortureFleet(options, { ...size, blows })
  }
  if (cluster === undefined) return torture
  if (cluster === 'holdfast') return tortureRemoteNode
  const open = openPlace(cluster)
  return options => torturePlace({ ...options, open, isShared: postgres })
}
