import { randomBytes } from 'node:crypto'
import { chmod, lstat, mkdir, open, rename, rm, stat, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { HoldfastError } from '../../src/domain/errors.ts'
import { unwritable } from './local-files.ts'
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
  const whole = join(unfinished, 'whole')
  const bar = new ProgressBar(printable(folder), null)
  const done: Unpacked = { files: 0, bytes: 0, skippedLinks: 0 }
  try {
    await mkdir(unfinished, { mode: 0o700 })
    await mkdir(whole)
    // A directory without write permission takes no entries, so each gets its attributes at the end.
    const directories = new Map<string, Attributes>()
    for await (const { path, kind, bytes, mode, mtime } of readTar(archive)) {
      const place = join(whole, ...namesBelowTop(path))
      if (kind === 'symlink') done.skippedLinks += 1
      else if (kind === 'directory') {
        await mkdir(place, { recursive: true })
        directories.set(place, { mode, mtime })
      } else {
        await mkdir(dirname(place), { recursive: true })
        done.files += 1
        await writeNew(place, { bytes, mode, mtime }, size => {
          done.bytes += size
          bar.update(done.bytes)
        })
      }
    }
    await refuseExisting(folder)
    const own = directories.get(whole)
    directories.delete(whole)
    for (const [place, attributes] of [...directories].reverse()) await setAttributes(place, attributes)
    await rename(whole, folder)
    if (own !== undefined) await setAttributes(folder, own)
    return done
  } catch (error) {
    throw unwritable(folder, error)
  } finally {
    await rm(unfinished, { recursive: true, force: true }).catch(() => undefined)
    bar.end()
  }
}

/** @throws HoldfastError `INVALID_PATH` if anything, even a dangling link, has the name */
export async function refuseExisting(folder: string): Promise<void> {
  const entry = await lstat(folder).catch(() => null)
  if (entry === null) return
  throw new HoldfastError('INVALID_PATH', `${printable(folder)} exists: name a new folder with --out`)
}

async function writeNew(
  path: string,
  { bytes, mode, mtime }: Attributes & Pick<TarFile, 'bytes'>,
  wrote: (bytes: number) => void,
): Promise<void> {
  const file = await open(path, 'wx', mode)
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
  if (mtime > 0) await utimes(directory, mtime, mtime)
  await chmod(directory, (await stat(directory)).mode & mode)
}

/** Splits the path of an entry, and omits the top directory. */
function namesBelowTop(path: string): string[] {
  const names = path.replace(/\/$/, '').split('/')
  const isUnsafe = (name: string): boolean => name === '' || name === '.' || name === '..' || /[\0\\]/.test(name)
  if (names.some(isUnsafe)) {
    const shown = printable(path.slice(0, LONGEST_SHOWN))
    throw new HoldfastError('INVALID_PATH', `cannot unpack ${shown}: its path may leave the folder, see --tar`)
  }
  return names.slice(1)
}
