/**
 * Restores a backup and, after some blocks, kills itself or hangs. Arguments: the backup, the data directory, the
 * number of blocks to restore first, `kill` or `wait`.
 */
import { writeSync } from 'node:fs'
import { restoreBackup } from '../../src/index.ts'

const [backup = '', dataDir = '', survived = '', how = ''] = process.argv.slice(2)
let steps = 0
await restoreBackup({
  backup,
  dataDir,
  onProgress: () => {
    if (steps++ < Number(survived)) return
    if (how === 'kill') process.kill(process.pid, 'SIGKILL')
    writeSync(1, 'restoring\n')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  },
})
