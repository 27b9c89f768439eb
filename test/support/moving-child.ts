/**
 * Moves a catalogue to another database and kills itself at a step. Arguments: the data directory, the database, the
 * number of progress reports before that step.
 */
import { writeSync } from 'node:fs'
import { postgres } from '../../adapters/postgres/index.ts'
import { moveCatalogue } from '../../src/index.ts'

const [dataDir = '', to = '', survived = ''] = process.argv.slice(2)
let reports = 0
await moveCatalogue({
  catalogue: postgres,
  dataDir,
  to,
  onProgress: ({ step }) => {
    writeSync(1, `${step}\n`)
    if (reports++ === Number(survived)) process.kill(process.pid, 'SIGKILL')
  },
})
