import { basename, dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { shownText, textOfUnicode } from '../../src/domain/byte-text.ts'
import { isHoldfastError } from '../../src/domain/errors.ts'
import type { HoldfastClient } from '../client/index.ts'
import type { GivenTo } from './all-commands.ts'
import { apiCommand } from './api-command.ts'
import { usageError } from './arguments.ts'
import { namesOf } from './content-words.ts'
import { print, printJson } from './output.ts'
import { countOf, formatBytes, printable } from './printed-text.ts'
import { readTar } from './tar-reader.ts'
import { refuseExisting, unpack } from './unpack.ts'
import { type FileAttributes, writeWhole } from './whole-file.ts'

/** Attributes of content that stores none. */
const PLAIN: FileAttributes = { mode: 0o666 }

export const get = apiCommand<GivenTo<'get'>>(async ({ client, flags, words: [word = ''], json }) => {
  const names = namesOf(word)
  const place = names.join('/')
  const asTar = flags.tar
  // Only Linux takes a name of any bytes.
  const last = process.platform === 'linux' ? (names.at(-1) ?? '') : shownText(names.at(-1) ?? '')
  const isNameless = flags.out === '' || (flags.out === undefined && /^\.{0,2}$/.test(last))
  if (isNameless) throw usageError('--out is needed, with the name of a file or a new folder')
  const path = flags.out === undefined ? (asTar ? `${last}.tar` : last) : textOfUnicode(flags.out)
  const file = asTar ? await client.content.archive(place, 'tar') : await fileAt(client, place).catch(noFile)
  if (file === null) return getFolder(client, { place, folder: join(dirname(path), basename(path)), json })
  const bytes = await writeWhole(path, file, asTar ? PLAIN : await attributesOf(client, place))
  if (json) printJson({ file: path, bytes })
  else print(printable(`${path}  ${formatBytes(bytes)}`))
})

async function getFolder(
  client: HoldfastClient,
  { place, folder, json }: { place: string; folder: string; json: boolean },
): Promise<void> {
  await refuseExisting(folder)
  const done = await unpack(folder, await client.content.archive(place, 'tar'))
  if (json) return printJson({ folder, ...done })
  print(printable(`${folder}/  ${countOf(done.files, 'file')}, ${formatBytes(done.bytes)}`))
  if (done.skippedLinks > 0)
    console.error(`holdfast: skipped ${countOf(done.skippedLinks, 'symbolic link')}, see --tar`)
  if (done.renamed > 0)
    console.error(`holdfast: percent-encoded ${countOf(done.renamed, 'name')} that the file system refuses`)
}

/** Returns null for the error of a directory. */
function noFile(error: unknown): null {
  const isDirectory = isHoldfastError(error) && isHoldfastError(error.cause) && error.cause.details.status === 301
  if (isDirectory) return null
  throw error
}

/** Returns the attributes of a file. Only the start of its archive has them. A server without archives gives none. */
async function attributesOf(client: HoldfastClient, place: string): Promise<FileAttributes> {
  try {
    for await (const { kind, mode, mtime } of readTar(await client.content.archive(place, 'tar'))) {
      return kind === 'file' ? { mode, mtime } : PLAIN
    }
  } catch (error) {
    if (!isHoldfastError(error)) throw error
  }
  return PLAIN
}

export const cat = apiCommand<GivenTo<'cat'>>(async ({ client, words: [word = ''] }) => {
  const place = namesOf(word).join('/')
  await pipeline(Readable.from(await fileAt(client, place)), process.stdout, { end: false })
})

async function fileAt(client: HoldfastClient, place: string): Promise<AsyncIterable<Uint8Array>> {
  return (await client.content.file(place)).stream
}
