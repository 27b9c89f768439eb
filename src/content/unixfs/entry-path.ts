import { bytesOfText, canonicalText, shownText } from '../../domain/byte-text.ts'
import { HoldfastError } from '../../domain/errors.ts'

/** Maximum of common file systems. A longer name could not be saved after a download. */
const LONGEST_SEGMENT_BYTES = 255
/** Each name creates a directory block, so a short path must not create thousands. */
export const MOST_NAMES = 256

const DRIVE = /^[A-Za-z]:$/

/**
 * Splits a path into its names, which are text forms. Treats `\` as `/`, and drops `.` segments and repeated slashes.
 *
 * @throws HoldfastError `INVALID_PATH` unless the path is relative with 1 to 256 names of up to 255 bytes, without `..`
 * segments, NUL, CR or LF
 */
export function splitEntryPath(path: string): string[] {
  const slashed = canonicalText(path).replaceAll('\\', '/')
  if (slashed.startsWith('/') || /^[A-Za-z]:\//.test(slashed)) throw pathRefusal(path, 'is absolute')
  const names = slashed.split('/').filter(name => name !== '' && name !== '.')
  // If a `.` segment before a drive letter was dropped, the drive letter is now first.
  if (names.length > 1 && DRIVE.test(names[0] ?? '')) throw pathRefusal(path, 'is absolute')
  if (names.length === 0) throw pathRefusal(path, 'is empty')
  if (names.length > MOST_NAMES) throw pathRefusal(path, `has over ${MOST_NAMES} names`)
  for (const name of names) checkName(path, name)
  return names
}

function checkName(path: string, name: string): void {
  if (name === '..') throw pathRefusal(path, 'leaves the directory by ".."')
  if (/[\0\uef00\r\n]/.test(name)) throw pathRefusal(path, 'has a NUL, CR or LF in a name')
  if (bytesOfText(name).length > LONGEST_SEGMENT_BYTES) throw pathRefusal(path, 'has a name of over 255 bytes')
}

export function pathRefusal(path: string, reason: string, cause?: unknown): HoldfastError {
  const shown = shownText(JSON.stringify(path.length > 100 ? `${path.slice(0, 100)}…` : path))
  return new HoldfastError('INVALID_PATH', `path ${shown} ${reason}`, { cause })
}
