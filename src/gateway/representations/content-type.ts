import { extname } from 'node:path'
import mime from 'mime'
import type { BlockReader } from '../../content/unixfs/block-reader.ts'
import { streamFile } from '../../content/unixfs/file-stream.ts'
import type { FileNode } from '../../content/unixfs/node.ts'
import { isHoldfastError } from '../../domain/errors.ts'
import { MEDIA_TYPE } from '../http/format.ts'
import { earlierType, earlierTypeOfName } from './earlier-type.ts'
import { contentTypeOf, preferredType } from './told-by-bytes.ts'

export interface FileType {
  /** Value of `Content-Type`. */
  value: string
  /** True if the ending of the name told the type. */
  isOfName: boolean
  /** The value that version 0.3.0 sent, which caches may keep for a year. */
  before: string
}

/** Maximum number of bytes that tell a type. */
const LOOKED_AT_BYTES = 4096

/** Endings of server programs. A mirrored site has their output under these names, or their source. */
const SERVER_PROGRAMS = new Set(['.php', '.asp', '.aspx', '.jsp', '.cgi', '.cfm', '.do'])

/** Longer names are not kept in memory. */
const LONGEST_NAME = 255

/** The last type of each decoded file. Nodes of recently read files stay in memory, so ranges need not read the start. */
const told = new WeakMap<FileNode, { name: string; type: FileType }>()

/**
 * Returns the media type of a file: by a known ending of its name, or else by its first bytes. Reads the start of a file
 * whose type is text or not known by its name.
 *
 * @throws HoldfastError of a failed read of the first bytes
 */
export async function typeOfFile(blocks: BlockReader, file: FileNode, name: string): Promise<FileType> {
  const last = told.get(file)
  if (last?.name === name) return last.type
  const type = await decideType(blocks, file, name)
  if (name.length <= LONGEST_NAME) told.set(file, { name, type })
  return type
}

async function decideType(blocks: BlockReader, file: FileNode, name: string): Promise<FileType> {
  const known = typeOfName(name)
  const earlier = earlierTypeOfName(name)
  if (known !== null && earlier !== null && !known.startsWith('text/')) {
    return { value: known, isOfName: true, before: earlier }
  }
  const start = await readStart(blocks, file)
  const value = await contentTypeOf(known, start, file.size <= LOOKED_AT_BYTES)
  return { value, isOfName: known !== null, before: earlierType(name, start) }
}

/** Returns the media type of a name's ending, without parameters. Null if the ending is unknown. */
function typeOfName(name: string): string | null {
  // Copies of websites keep the query in the name, such as `style.css?v=2`.
  for (const text of name.includes('?') ? [name, name.split('?', 1)[0] ?? ''] : [name]) {
    const ending = extname(text).toLowerCase()
    if (SERVER_PROGRAMS.has(ending)) return null
    if (ending === '.car') return MEDIA_TYPE.car
    // The library treats a name without a dot as an extension.
    const type = ending === '' ? null : mime.getType(ending)
    if (type !== null) return preferredType(type)
  }
  return null
}

async function readStart(blocks: BlockReader, file: FileNode): Promise<Uint8Array> {
  const range = { start: 0, end: Math.min(LOOKED_AT_BYTES, file.size) }
  if (file.links.length === 0) return file.inline.subarray(range.start, range.end)
  const chunks: Uint8Array[] = []
  try {
    for await (const chunk of streamFile(blocks, file, range)) chunks.push(chunk)
  } catch (error) {
    // A range of a file needs no other block, so a missing one must not refuse it.
    if (chunks.length === 0 || !isHoldfastError(error, 'NOT_FOUND')) throw error
  }
  return Buffer.concat(chunks)
}
