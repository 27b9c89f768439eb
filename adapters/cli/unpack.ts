import { randomBytes } from 'node:crypto'
import { chmod, type FileHandle, lstat, mkdir, open, rename, rm, stat, utimes } from 'node:fs/promises'
import { isFileName } from '../../src/domain/byte-text.ts'
import { HoldfastError } from '../../src/domain/errors.ts'
import { unwritable } from './local-files.ts'
import { createNamed, onDisk } from './local-name.ts'
import { printable } from './printed-text.ts'
import { ProgressBar } from './progress-bar.ts'
import { readTar, type TarFile } from './tar-reader.ts'
import { untilInterrupted } from './until-interrupted.ts'

/** Characters of a refused path in the message. */
const LONGEST_SHOWN = 200

type Attributes = Pick<TarFile, 'mode' | 'mtime'>

export interface Unpacked {
  files: number
  bytes: number
  /** Symbolic links in the archive, which are not created. */
  skippedLinks: number
  /** Files and directories with a percent-encoded name, because the file system refuses the name. */
  renamed: number
}

/**
 * Unpacks a TAR into a new folder without the name of its top directory. The umask decides who can read it. An
 * incomplete download leaves no folder. Only new directories and files are created in a new private directory, so no
 * path can lead out of it by a link.
 * @throws HoldfastError `INVALID_PATH` if the folder exists or cannot be written, or if a path leaves it
 */
export function unpack(folder: string, archive: AsyncIterable<Uint8Array>): Promise<Unpacked> {
  return untilInterrupted(archive, pieces => unpackPieces(folder, pieces))
}

async function unpackPieces(folder: string, archive: AsyncIterable<Uint8Array>): Promise<Unpacked> {
  const unfinished = `${folder}.part-${randomBytes(6).toString('hex')}`
  const places = new Places(`${unfinished}/whole`)
  const bar = new ProgressBar(printable(folder), null)
  const done: Unpacked = { files: 0, bytes: 0, skippedLinks: 0, renamed: 0 }
  try {
    await mkdir(onDisk(unfinished), { mode: 0o700 })
    await mkdir(onDisk(places.top))
    // A directory without write permission takes no entries, so each gets its attributes at the end.
    const directories = new Map<string, Attributes>()
    for await (const { path, kind, bytes, mode, mtime } of readTar(archive)) {
      const names = namesBelowTop(path)
      if (kind === 'symlink') done.skippedLinks += 1
      else if (kind === 'directory') directories.set(await places.directory(names), { mode, mtime })
      else {
        done.files += 1
        await writeNew(await places.file(names, mode), { bytes, mtime }, size => {
          done.bytes += size
          bar.update(done.bytes)
        })
      }
    }
    await refuseExisting(folder)
    done.renamed = places.renamed
    const own = directories.get(places.top)
    directories.delete(places.top)
    for (const [place, attributes] of [...directories].reverse()) await setAttributes(place, attributes)
    await rename(onDisk(places.top), onDisk(folder))
    if (own !== undefined) await setAttributes(folder, own)
    return done
  } catch (error) {
    throw unwritable(folder, error)
  } finally {
    await rm(onDisk(unfinished), { recursive: true, force: true }).catch(() => undefined)
    bar.end()
  }
}

/** @throws HoldfastError `INVALID_PATH` if anything, even a dangling link, has the name */
export async function refuseExisting(folder: string): Promise<void> {
  const entry = await lstat(onDisk(folder)).catch(() => null)
  if (entry === null) return
  throw new HoldfastError('INVALID_PATH', `${printable(folder)} exists: name a new folder with --out`)
}

/** The places on disk of the entries of an archive, below a directory. */
class Places {
  /** Local path of the top directory. */
  readonly top: string
  /** Local paths of renamed directories, by the path in the archive. */
  readonly #renamed = new Map<string, string>()
  renamed = 0

  constructor(top: string) {
    this.top = top
  }

  /** Creates a directory, unless it exists. Returns its local path. */
  async directory(names: readonly string[]): Promise<string> {
    const create = (path: string): Promise<unknown> => mkdir(onDisk(path), { recursive: true })
    const name = names.at(-1)
    if (name === undefined) return this.top
    const { path, isRenamed } = await createNamed(this.#local(names.slice(0, -1)), name, create)
    if (isRenamed) {
      this.renamed += this.#renamed.has(names.join('/')) ? 0 : 1
      this.#renamed.set(names.join('/'), path)
    }
    return path
  }

  /** Creates a file, and the directories that lead to it. */
  async file(names: readonly string[], mode: number): Promise<FileHandle> {
    const folder = this.#local(names.slice(0, -1))
    await mkdir(onDisk(folder), { recursive: true })
    const { made, isRenamed } = await createNamed(folder, names.at(-1) ?? '', path => open(onDisk(path), 'wx', mode))
    if (isRenamed) this.renamed += 1
    return made
  }

  #local(names: readonly string[]): string {
    if (this.#renamed.size === 0) return [this.top, ...names].join('/')
    let path = this.top
    for (const [depth, name] of names.entries()) {
      path = this.#renamed.get(names.slice(0, depth + 1).join('/')) ?? `${path}/${name}`
    }
    return path
  }
}

/** Writes a file, and closes it. */
async function writeNew(
  file: FileHandle,
  { bytes, mtime }: Pick<TarFile, 'bytes' | 'mtime'>,
  wrote: (bytes: number) => void,
): Promise<void> {
  try {
    for await (const piece of bytes) {
      await file.writeFile(piece)
      wrote(piece.length)
    }
    if (mtime > 0) await file.utimes(mtime, mtime)
  } finally {
    await file.close()
  }
}

/** Removes permissions that the archive does not give. The umask has taken its part when the directory was created. */
async function setAttributes(directory: string, { mode, mtime }: Attributes): Promise<void> {
  const path = onDisk(directory)
  if (mtime > 0) await utimes(path, mtime, mtime)
  await chmod(path, (await stat(path)).mode & mode)
}

/** Splits the path of an entry, and omits the top directory. */
function namesBelowTop(path: string): string[] {
  const names = path.replace(/\/$/, '').split('/')
  if (!names.every(isFileName)) {
    const shown = printable(path.slice(0, LONGEST_SHOWN))
    throw new HoldfastError('INVALID_PATH', `cannot unpack ${shown}: its path may leave the folder, see --tar`)
  }
  return names.slice(1)
}
