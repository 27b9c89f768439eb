import type { JsonObject } from './api-client.ts'
import { listOf, numberOf, textOf, withApi } from './api-command.ts'
import { usageError } from './arguments.ts'
import { readLocalContent } from './local-files.ts'
import { print, printJson } from './output.ts'
import { ProgressBar } from './progress-bar.ts'
import type { Environment } from './settings.ts'
import { countOf, printable } from './text.ts'
import { uploadForm } from './upload-form.ts'

/** `import`: sends a CAR, and prints what became of each of its roots. */
export function importCar(args: readonly string[], env: Environment): Promise<boolean> {
  const grammar = {
    values: ['name', 'cluster', 'timelock'],
    switches: ['allow-partial'],
    words: { what: 'a CAR file', min: 1, max: 1 },
  } as const
  return withApi(args, env, grammar, async ({ client, flags, switches, words: [path = ''], json }) => {
    const { name, isDirectory, files } = await readLocalContent(path)
    const [car] = files
    if (isDirectory || car === undefined) throw usageError(`${printable(path)} is a directory, not a CAR file`)
    const bar = new ProgressBar(printable(name), car.size)
    const body = uploadForm({
      fields: { cl: flags.cluster, timelock: flags.timelock },
      field: 'file',
      files: [{ ...car, path: flags.name ?? name }],
      onProgress: bytes => bar.update(bytes),
    })
    let answer: JsonObject
    try {
      answer = await client.request('POST', '/files/car', {
        query: { allowPartial: switches.has('allow-partial') ? 'true' : undefined },
        // Said in a header too, a server can refuse the cluster before the CAR is sent.
        headers: flags.cluster === undefined ? {} : { 'x-cluster': flags.cluster },
        body,
      })
    } finally {
      bar.end()
    }
    if (json) printJson(answer)
    else for (const root of listOf(answer, 'roots')) print(lineOf(root))
  })
}

function lineOf(root: JsonObject): string {
  const { missing } = root
  const lacks = typeof missing === 'object' && missing !== null ? numberOf({ ...missing }, 'blocks') : null
  const note = lacks === null ? '' : `, ${countOf(lacks, 'block')} missing`
  return `${textOf(root, 'cid')}  ${textOf(root, 'status')}${note}`
}
