import { stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { HoldfastError } from '../../src/domain/errors.ts'
import type { Car, CarRoot, HoldfastClient } from '../client/index.ts'
import type { GivenTo } from './all-commands.ts'
import { apiCommand } from './api-command.ts'
import { usageError } from './arguments.ts'
import { timelockOf } from './content-words.ts'
import { type ExportSection, readExport, restoreExport } from './import-export.ts'
import { fileSource, type LocalFile, unreadable } from './local-files.ts'
import { print, printJson } from './output.ts'
import { countOf, printable } from './printed-text.ts'
import { flaggedVisibility } from './private-content.ts'
import { ProgressBar } from './progress-bar.ts'

/** Runs `import`. Prints the result of each root, or of each record if the CAR is an export. */
export const importCar = apiCommand<GivenTo<'import'>>(async ({ client, flags, words: [path = ''], json }) => {
  const car = await findFile(path)
  const sections = await readExport(car)
  if (sections !== null) {
    const { name, timelock } = flags
    if (name !== undefined || timelock !== undefined || flags['allow-partial'] || flags.private || flags.public) {
      throw usageError('an export has its own names, timelocks and visibilities: use only --cluster')
    }
    return restore(client, car, sections, { cluster: flags.cluster, json })
  }
  const visibility = await flaggedVisibility(client, flags)
  const bar = new ProgressBar(printable(car.path), car.size)
  let answer: Car
  try {
    answer = await client.files.importCar(fileSource(car), {
      name: (flags.name ?? car.path).replace(/\.car$/i, ''),
      cluster: flags.cluster,
      timelock: timelockOf(flags.timelock),
      visibility,
      allowPartial: flags['allow-partial'],
      onProgress: bytes => bar.update(bytes),
    })
  } finally {
    bar.end()
  }
  if (json) printJson(answer)
  else for (const root of answer.roots) print(lineOf(root))
})

async function restore(
  client: HoldfastClient,
  file: LocalFile,
  sections: readonly ExportSection[],
  { cluster, json }: { cluster: string | undefined; json: boolean },
): Promise<void> {
  let refused = 0
  for await (const restored of restoreExport(client, file, sections, cluster)) {
    if (restored.status === 'refused') refused++
    const note = restored.reason === null ? '' : `: ${printable(restored.reason)}`
    if (json) printJson(restored)
    else print(`${restored.cid}  ${restored.status}${note}`)
  }
  if (refused > 0) throw new HoldfastError('UNAVAILABLE', `${countOf(refused, 'record')} could not be restored`)
}

async function findFile(path: string): Promise<LocalFile> {
  const file = resolve(path)
  const entry = await stat(file).catch(cause => {
    throw unreadable(path, cause)
  })
  if (!entry.isFile()) throw new HoldfastError('INVALID_PATH', `${printable(path)} is not a file`)
  return { file, path: basename(file), size: entry.size }
}

function lineOf({ cid, status, missing }: CarRoot): string {
  return `${cid}  ${status}${missing === null ? '' : `, ${countOf(missing.blocks, 'block')} missing`}`
}
