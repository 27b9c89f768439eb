import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import { consoleSources, withModulesNamed } from './console-sources.ts'

export interface ConsoleFile {
  type: string
  plain: Buffer
  gzipped: Buffer
  /** Weak ETag, which is valid for the uncompressed and the compressed bytes. */
  etag: string
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
}

const compress = promisify(gzip)

/** Path of the page for an origin without content. No request has this path. */
export const PAGE_APART = '?apart'

/** Reads and compresses the files. The path of the page itself is `''`, or {@link PAGE_APART}. */
export async function consoleFiles(): Promise<ReadonlyMap<string, ConsoleFile>> {
  // The published package has the compiled files in the directory of this module.
  const contents = import.meta.url.endsWith('.ts')
    ? withModulesNamed(await consoleSources())
    : await filesBelow(join(import.meta.dirname, 'page'))
  const files = new Map<string, ConsoleFile>()
  for (const [path, plain] of contents) {
    const type = TYPES[extname(path)]
    if (type === undefined) continue
    if (path !== 'index.html') {
      files.set(path, await fileOf(type, plain))
      continue
    }
    files.set('', await fileOf(type, plain))
    const apart = plain.toString().replace('data-content="shared"', 'data-content="apart"')
    files.set(PAGE_APART, await fileOf(type, Buffer.from(apart)))
  }
  return files
}

async function fileOf(type: string, plain: Buffer): Promise<ConsoleFile> {
  const etag = `W/"${createHash('sha256').update(plain).digest('base64url')}"`
  return { type, plain, etag, gzipped: await compress(plain, { level: constants.Z_BEST_COMPRESSION }) }
}

async function filesBelow(directory: string): Promise<Map<string, Buffer>> {
  const paths = (await readdir(directory, { recursive: true })).map(path => path.replaceAll('\\', '/'))
  const named = paths.filter(path => extname(path) !== '')
  return new Map(await Promise.all(named.map(async path => [path, await readFile(join(directory, path))] as const)))
}
