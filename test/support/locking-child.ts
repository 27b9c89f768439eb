/** Locks a directory until it is killed. Arguments: the directory, `alone` or `together`. */
import { writeSync } from 'node:fs'
import { lockDirectory } from '../../src/storage/directory-lock.ts'

const [directory = '', use] = process.argv.slice(2)
const unlock = lockDirectory(directory, use === 'alone' ? 'alone' : 'together')
writeSync(1, unlock === null ? 'read-only\n' : 'locked\n')
setInterval(() => undefined, 60_000)
