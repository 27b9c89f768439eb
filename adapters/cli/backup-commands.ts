import { resolve } from 'node:path'
import { checkBackup, compactDatabase, HoldfastError, restoreBackup } from '../../src/index.ts'
import type { JsonObject } from '../client/index.ts'
import type { GivenTo } from './all-commands.ts'
import { listOf, numberOf, textOf } from './api-command.ts'
import { usageError } from './arguments.ts'
import { print, printJson } from './output.ts'
import { followed, ownerCommand } from './owner-node.ts'
import { countOf, formatBytes, printable } from './printed-text.ts'
import { ProgressBar } from './progress-bar.ts'
import { type Environment, readDirectorySettings } from './settings.ts'

export const runBackup = ownerCommand<GivenTo<'backup'>>(
  async ({ client, engine, flags, words: [directory = ''], json }) => {
    const bar = new ProgressBar('backing up', null)
    const keys = flags.keys === undefined ? undefined : resolve(flags.keys)
    if (engine === null && keys !== undefined) {
      throw usageError('--keys requires --data-dir: a server writes the keys into the backup')
    }
    const target = { directory: resolve(directory), force: flags.force, bytesPerSecond: flags.rate }
    const made: Promise<object> =
      engine === null
        ? followed(client, '/backup', target, bytes => bar.update(bytes))
        : engine.backup(target.directory, {
            keys,
            force: target.force,
            bytesPerSecond: target.bytesPerSecond,
            onProgress: ({ bytes }) => bar.update(bytes),
          })
    const outcome: JsonObject = { ...(await made.finally(() => bar.end())) }
    const missing = Array.isArray(outcome.missing) ? outcome.missing : []
    if (json) printJson(outcome)
    else for (const line of backupLines(outcome)) print(line)
    if (missing.length > 0) {
      if (!json) for (const cid of missing) print(`${cid}  missing or damaged`)
      throw new HoldfastError(
        'BLOCK_DAMAGED',
        `the data directory lacks ${countOf(missing.length, 'block')}: run holdfast verify`,
      )
    }
  },
)

function backupLines(outcome: JsonObject): string[] {
  const number = (name: string): number => numberOf(outcome, name) ?? 0
  const mended = number('mendedBlocks') === 0 ? '' : `, ${number('mendedBlocks')} mended`
  const read = textOf((outcome.lastFullRead ?? {}) as JsonObject, 'at') || undefined
  const all = `${countOf(number('blocks'), 'block')}, ${formatBytes(number('bytes'))}`
  return [
    `${textOf(outcome, 'directory')}  ${all}, ${number('newBlocks')} new${mended}; database ${formatBytes(number('databaseBytes'))}`,
    `last read in full: ${read ?? 'never'} (holdfast backup check)`,
    `store ${textOf(outcome, 'keys')} apart from the backup: it opens the secrets in the database`,
  ]
}

/** Runs `backup check`. Fails if the backup is incomplete. */
export async function checkBackupCommand(given: GivenTo<'backup check'>, env: Environment): Promise<void> {
  const [backup = ''] = given.words
  const isRepaired = given.flags.repair
  if (!isRepaired && given.flags['data-dir'] !== undefined) throw usageError('--data-dir requires --repair')
  const repairFrom = isRepaired ? readDirectorySettings(given.flags, env).dataDir : undefined
  const bar = new ProgressBar('checking', null)
  const checked = await checkBackup({
    backup,
    keys: given.flags.keys,
    repairFrom,
    bytesPerSecond: given.flags.rate,
    onProgress: ({ bytes }) => bar.update(bytes),
  }).finally(() => bar.end())
  if (given.flags.json) printJson({ ...checked })
  else {
    const amount = `${countOf(checked.blocks, 'block')}, ${formatBytes(checked.bytes)} read, ${checked.repaired} repaired`
    print(`${checked.directory}  of ${checked.createdAt}: ${amount}`)
    for (const { what, problem } of checked.problems) print(printable(`${what}  ${problem}`))
  }
  if (checked.problemCount === 0) return
  const remedy = 'use --repair with the data directory, or back up again'
  throw new HoldfastError('BACKUP_UNUSABLE', `${countOf(checked.problemCount, 'problem')}: ${remedy}`)
}

/** Runs `reconcile`. Fails if inconsistencies remain. */
export const reconcile = ownerCommand<GivenTo<'reconcile'>>(async ({ client, flags, json }) => {
  const dryRun = flags['dry-run']
  const outcome = await followed(client, '/reconcile', { dryRun, force: flags.force })
  const found = Object.entries((outcome.found ?? {}) as JsonObject)
  if (json) {
    printJson(outcome)
  } else {
    for (const finding of listOf(outcome, 'findings')) {
      const detail = textOf(finding, 'detail')
      print(printable(`${textOf(finding, 'kind')}  ${textOf(finding, 'what')}  ${detail}`.trimEnd()))
    }
    print(found.length === 0 ? 'everything fits together' : found.map(([kind, count]) => `${kind} ${count}`).join(', '))
  }
  if (dryRun && found.length > 0) throw new HoldfastError('CONFLICT', 'nothing was changed: repeat without --dry-run')
})

export async function compact(given: GivenTo<'compact'>, env: Environment): Promise<void> {
  const { dataDir } = readDirectorySettings(given.flags, env)
  const { before, after } = await compactDatabase(dataDir)
  if (given.flags.json) printJson({ before, after })
  else print(`database ${formatBytes(before)}, now ${formatBytes(after)}`)
}

export async function restore(given: GivenTo<'restore'>, _env: Environment): Promise<void> {
  const [backup = ''] = given.words
  const dataDir = given.flags['data-dir']
  const bar = new ProgressBar('restoring', null)
  const restored = await restoreBackup({
    backup,
    dataDir,
    keys: given.flags.keys,
    sameNode: given.flags['same-node'],
    partial: given.flags.partial,
    onProgress: ({ bytes }) => bar.update(bytes),
  }).finally(() => bar.end())
  if (given.flags.json) {
    printJson(restored)
  } else {
    print(`${restored.dataDir}  ${countOf(restored.blocks, 'block')}, ${formatBytes(restored.bytes)}, checked`)
    for (const { was, is } of restored.clusterDirs)
      print(`cluster content of ${was} is now in ${is}: set dataDir to it`)
    for (const cid of restored.damaged) print(`${cid}  missing or damaged`)
  }
  if (restored.damaged.length > 0) {
    throw new HoldfastError('BLOCK_DAMAGED', `${countOf(restored.damaged.length, 'block')} could not be restored`)
  }
}
