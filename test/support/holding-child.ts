/** Locks a data directory without opening its database, until it is killed. Argument: the directory. */
import { writeSync } from 'node:fs'
import { ownDataDirectory } from '../../src/disk/data-directory.ts'
import { silentLogger } from '../../src/domain/logger.ts'

await ownDataDirectory(process.argv[2] ?? '', silentLogger)
writeSync(1, 'open\n')
setInterval(() => undefined, 60_000)
