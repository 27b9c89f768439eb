/**
 * A process that restores a backup and kills itself at a block, or stands still there. Arguments: the backup, the data
 * directory, how many steps it survives, `kill` or `wait`.
 */
import { writeSync } from 'node:fs'
import { restoreBackup } from '../../src/index.ts'

const [backup = '', dataDir = '', survived = '', how = ''] = process.argv.slice(2)
let told = 0
await restoreBackup({
  backup,
  dataDir,
  onProgress: () => {
    if (told++ < Number(survived)) return
    if (how === 'kill') process.kill(process.pid, 'SIGKILL')
    writeSync(1, 'restoring\n')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  },
})
