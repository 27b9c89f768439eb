import { parseArgs } from 'node:util'
import { canRecord, cutPower } from './power-cut.ts'

/** Simulates power cuts: `npm run --silent power-cut -- --rounds N --seed S`. */
const { values } = parseArgs({ options: { rounds: { type: 'string', default: '20' }, seed: { type: 'string' } } })
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))
if (canRecord()) {
  console.log(`seed ${seed}`)
  const progress = (text: string) => process.stderr.write(`${text}\n`)
  const { rounds, readBack } = await cutPower({ rounds: Number(values.rounds), seed, progress })
  console.log(`${rounds} power cuts, ${readBack} contents read back whole, nothing lost, no file without its row`)
} else {
  console.log('not run: strace is missing or may not trace')
}
