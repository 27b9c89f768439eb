import { HoldfastError } from '../../domain/errors.ts'

/** Longest name on common file systems, so that uploads can be downloaded. */
const LONGEST_SEGMENT_BYTES = 255
/** Limit of names in a path. Each name is a directory block, so a short path must not create thousands. */
export const MOST_NAMES = 256

const DRIVE = /^[A-Za-z]:$/

/**
 * Splits the path of a directory entry into its names. Treats `\` as `/`, drops `.` segments and repeated slashes, and
 * keeps everything else byte for byte.
 *
 * @throws HoldfastError `INVALID_PATH` with the path: empty; absolute; with a `..` segment; with NUL, CR or LF; with a
 * name of over 255 bytes; with over 256 names.
 */
export function splitEntryPath(path: string): string[] {
  const slashed = path.replaceAll('\\', '/')
  if (slashed.startsWith('/') || /^[A-Za-z]:\//.test(slashed)) throw pathRefusal(path, 'is absolute')
  const names = slashed.split('/').filter(name => name !== '' && name !== '.')
  // A drive stays a drive after a dropped segment before it.
  if (names.length > 1 && DRIVE.test(names[0] ?? '')) throw pathRefusal(path, 'is absolute')
  if (names.length === 0) throw pathRefusal(path, 'is empty')
  if (names.length > MOST_NAMES) throw pathRefusal(path, `has over ${MOST_NAMES} names`)
  for (const name of names) checkName(path, name)
  return names
}

function checkName(path: string, name: string): void {
  if (name === '..') throw pathRefusal(path, 'leaves the directory by ".."')
  if (/[\0\r\n]/.test(name)) throw pathRefusal(path, 'has a NUL, CR or LF in a name')
  if (Buffer.byteLength(name) > LONGEST_SEGMENT_BYTES) throw pathRefusal(path, 'has a name of over 255 bytes')
}

/** Returns the error for a path, which it shows escaped and shortened. */
export function pathRefusal(path: string, reason: string): HoldfastError {
  const shown = JSON.stringify(path.length > 100 ? `${path.slice(0, 100)}…` : path)
  return new HoldfastError('INVALID_PATH', `path ${shown} ${reason}`)
}
