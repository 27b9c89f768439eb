/**
 * A process that moves a catalogue and kills itself at a step. Arguments: data directory, database, how often progress
 * is told before.
 */
import { writeSync } from 'node:fs'
import { postgres } from '../../adapters/postgres/index.ts'
import { moveCatalogue } from '../../src/index.ts'

const [dataDir = '', to = '', survived = ''] = process.argv.slice(2)
let told = 0
await moveCatalogue({
  catalogue: postgres,
  dataDir,
  to,
  onProgress: ({ step }) => {
    writeSync(1, `${step}\n`)
    if (told++ === Number(survived)) process.kill(process.pid, 'SIGKILL')
  },
})
