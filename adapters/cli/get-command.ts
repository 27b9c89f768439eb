import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { HoldfastClient } from '../client/index.ts'
import { withApi } from './api-command.ts'
import { usageError } from './arguments.ts'
import { print, printJson } from './output.ts'
import { formatBytes } from './printed-text.ts'
import type { Environment } from './settings.ts'
import { writeWhole } from './whole-file.ts'

const PLACE = { what: 'CID or CID/PATH', min: 1, max: 1 }

export function get(args: readonly string[], env: Environment): Promise<boolean> {
  const grammar = { values: ['out'], switches: ['tar'], words: PLACE } as const
  return withApi(args, env, grammar, async ({ client, flags, switches, words: [place = ''], json }) => {
    const names = namesOf(place)
    const asTar = switches.has('tar')
    const last = names.at(-1) ?? ''
    if (flags.out === undefined && /^\.{0,2}$/.test(last)) throw usageError('--out is needed: the path has no name')
    const path = flags.out ?? (asTar ? `${last}.tar` : last)
    const bytes = await writeWhole(
      path,
      asTar ? await client.content.archive(place, 'tar') : await fileAt(client, place),
    )
    if (json) printJson({ file: path, bytes })
    else print(`${path}  ${formatBytes(bytes)}`)
  })
}

export function cat(args: readonly string[], env: Environment): Promise<boolean> {
  return withApi(args, env, { values: [], words: PLACE }, async ({ client, words: [place = ''] }) => {
    await pipeline(Readable.from(await fileAt(client, place)), process.stdout, { end: false })
  })
}

async function fileAt(client: HoldfastClient, place: string): Promise<AsyncIterable<Uint8Array>> {
  return (await client.content.file(place)).stream
}

/** Splits `CID/path`, `/ipfs/CID/path` or `ipfs://CID/path` into the CID and the names. */
function namesOf(place: string): string[] {
  const names = place.replace(/^(ipfs:\/\/|\/ipfs\/)/, '').split('/')
  return names.filter(name => name !== '')
}
