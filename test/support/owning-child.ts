/** Runs an engine on the data directory in its argument until it is killed, or stops it at the first input. */
import { writeSync } from 'node:fs'
import { createEngine } from '../../src/index.ts'

const engine = await createEngine({ dataDir: process.argv[2] ?? '' })
writeSync(1, 'open\n')
process.stdin.once('data', async () => {
  await engine.stop()
  process.exit(0)
})
