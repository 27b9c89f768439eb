import { resolve } from 'node:path'
import { rehearseUpgrade, type UpgradeRehearsal } from '../../src/index.ts'
import type { GivenTo } from './all-commands.ts'
import { print, printJson } from './output.ts'
import { formatBytes } from './printed-text.ts'
import { type Environment, readDirectorySettings } from './settings.ts'

/** Rehearses the change of the database that the first start of this version makes. */
export async function upgrade(given: GivenTo<'upgrade'>, env: Environment): Promise<void> {
  const { dataDir, config } = readDirectorySettings(given.flags, env)
  const { scratch } = given.flags
  const rehearsal = rehearseUpgrade(dataDir, ...(scratch === undefined ? [] : [resolve(scratch)]))
  if (given.flags.json) printJson({ ...rehearsal })
  else print([...linesOf(rehearsal), ...(config.database === undefined ? [] : [SHARED])].join('\n'))
}

const SHARED = 'PostgreSQL is not rehearsed: restore a dump of it, and start this version on that'

function linesOf(rehearsal: UpgradeRehearsal): string[] {
  const { schema, newSchema, seconds, databaseBytes, newDatabaseBytes, neededBytes, freeBytes } = rehearsal
  if (schema === newSchema) return [`the database has schema ${schema} already: this version changes nothing`]
  const lines = [
    `schema ${schema} becomes ${newSchema}`,
    `time: ${seconds.toFixed(1)} s, while the server does not answer`,
    `database: ${formatBytes(databaseBytes)} now, ${formatBytes(newDatabaseBytes)} then`,
    `disk: ${formatBytes(neededBytes)} needed, a copy of the old database included; ${formatBytes(freeBytes)} free`,
  ]
  return neededBytes < freeBytes ? lines : [...lines, 'make room before the upgrade']
}
