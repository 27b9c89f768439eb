import { type MovedCatalogue, moveCatalogue } from '../../src/index.ts'
import { readArguments, usageError } from './arguments.ts'
import { print, printJson } from './output.ts'
import { countOf } from './printed-text.ts'
import { ProgressBar } from './progress-bar.ts'
import { serverAdapters } from './server-adapters.ts'
import { type Environment, readDirectorySettings } from './settings.ts'

export async function moveToDatabase(args: readonly string[], env: Environment): Promise<boolean> {
  const given = readArguments(args, { values: ['to', 'data-dir', 'config'], switches: ['json'] })
  if (given === null) return false
  const { dataDir, config } = readDirectorySettings(given.flags, env)
  const to = given.flags.to ?? config.database
  if (to === undefined) throw usageError('--to is needed, or database in the configuration')
  const bar = new ProgressBar('moving', null, { format: rows => countOf(rows, 'row') })
  const moved = await moveCatalogue({
    dataDir,
    to,
    catalogue: serverAdapters.catalogue,
    onProgress: ({ rows }) => bar.update(rows),
  }).finally(() => bar.end())
  if (given.switches.has('json')) printJson({ ...moved })
  else for (const line of linesOf(moved)) print(line)
  return true
}

function linesOf({ copied, removed }: MovedCatalogue): string[] {
  const lines: string[] = []
  if (copied === null) lines.push('the catalogue had been moved already')
  else {
    const tables = Object.entries(copied.rows).filter(([, count]) => count > 0)
    lines.push(`copied: ${tables.map(([table, count]) => `${table} ${count}`).join(', ')}`)
    if (copied.recounted.length > 0) lines.push(`counted anew: ${copied.recounted.join(', ')}`)
  }
  lines.push(`removed from the data directory: ${countOf(removed, 'row')}`)
  lines.push('the data directory uses the database from now on: name it as "database" in the configuration')
  return lines
}
