import { type MovedCatalogue, moveCatalogue } from '../../src/index.ts'
import type { GivenTo } from './all-commands.ts'
import { usageError } from './arguments.ts'
import { print, printJson } from './output.ts'
import { countOf } from './printed-text.ts'
import { ProgressBar } from './progress-bar.ts'
import { serverAdapters } from './server-adapters.ts'
import { type Environment, readDirectorySettings } from './settings.ts'

export async function moveToDatabase(given: GivenTo<'catalogue move'>, env: Environment): Promise<void> {
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
  if (given.flags.json) printJson({ ...moved })
  else for (const line of linesOf(moved)) print(line)
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
