import { HoldfastError } from './errors.ts'

/** Time with the precision of UnixFS 1.5. */
export interface UnixTime {
  /** Seconds since the epoch, negative before 1970. A safe integer. */
  seconds: number
  /** Nanoseconds after `seconds`, from 0 to 999,999,999. Default: 0. */
  nanoseconds?: number | undefined
}

/** Attributes to store with a file or directory, as UnixFS 1.5 does. By default, none is stored. */
export interface NewAttributes {
  /** Permissions, from 0 to 0o7777. 0 is not stored. Readers ignore the bits setuid, setgid and sticky. */
  mode?: number | undefined
  /** Time of the last modification. */
  mtime?: Date | UnixTime | undefined
}

/** Checked {@link NewAttributes}. */
export interface StoredAttributes {
  mode?: number
  mtime?: { seconds: number; nanoseconds: number }
}

/** Media type of a part of a form that stands for a directory, as in the forms of Kubo. */
export const DIRECTORY_TYPE = 'application/x-directory'

const QUERY_NAMES = ['mode', 'mtime', 'mtime-nsecs']
const ALL_MODES = 0o7777
const BILLION = 1_000_000_000n
const MOST_NANOSECONDS = 999_999_999

/**
 * @param where prefix of error messages, such as `a.txt: `
 * @throws HoldfastError `VALIDATION`
 */
export function checkedAttributes({ mode = 0, mtime }: NewAttributes, where = ''): StoredAttributes {
  if (!Number.isInteger(mode) || mode < 0 || mode > ALL_MODES) {
    throw new HoldfastError('VALIDATION', `${where}mode must be an integer from 0 to 0o7777`)
  }
  const modeField = mode === 0 ? {} : { mode }
  if (mtime === undefined) return modeField
  const { seconds, nanoseconds = 0 }: UnixTime = mtime instanceof Date ? unixTimeOf(mtime) : Object(mtime)
  if (!Number.isSafeInteger(seconds)) {
    throw new HoldfastError('VALIDATION', `${where}mtime must be a valid Date, or have seconds as a safe integer`)
  }
  if (!Number.isInteger(nanoseconds) || nanoseconds < 0 || nanoseconds > MOST_NANOSECONDS) {
    throw new HoldfastError('VALIDATION', `${where}mtime must have nanoseconds from 0 to ${MOST_NANOSECONDS}`)
  }
  return { ...modeField, mtime: { seconds, nanoseconds } }
}

function unixTimeOf(date: Date): UnixTime {
  const seconds = Math.floor(date.getTime() / 1000)
  return { seconds, nanoseconds: date.getUTCMilliseconds() * 1e6 }
}

/** Returns the attributes of a file on a disk. */
export function attributesOnDisk({ mode, mtimeNs }: { mode: bigint; mtimeNs: bigint }): Required<StoredAttributes> {
  const nanoseconds = ((mtimeNs % BILLION) + BILLION) % BILLION
  const seconds = Number((mtimeNs - nanoseconds) / BILLION)
  return { mode: Number(mode) & ALL_MODES, mtime: { seconds, nanoseconds: Number(nanoseconds) } }
}

/** Returns the query that the forms of Kubo have in the name of a part, with its `?`, or no text. */
export function attributeQuery({ mode, mtime }: StoredAttributes): string {
  const query = new URLSearchParams()
  if (mode !== undefined) query.set('mode', `0${mode.toString(8)}`)
  if (mtime !== undefined) query.set('mtime', `${mtime.seconds}`)
  if (mtime !== undefined && mtime.nanoseconds > 0) query.set('mtime-nsecs', `${mtime.nanoseconds}`)
  const text = query.toString()
  return text === '' ? '' : `?${text}`
}

/**
 * Reads an {@link attributeQuery} without its `?`. Ignores other parameters.
 *
 * @throws HoldfastError `VALIDATION`
 */
export function attributesOfQuery(text: string, where: string): StoredAttributes {
  const query = new URLSearchParams(text)
  for (const name of QUERY_NAMES) {
    if (query.getAll(name).length > 1) throw new HoldfastError('VALIDATION', `${where}${name} is given more than once`)
  }
  const mode = query.get('mode') ?? '0'
  if (!/^[0-7]{1,6}$/.test(mode)) throw new HoldfastError('VALIDATION', `${where}mode must be an octal number`)
  const seconds = query.get('mtime')
  const nanoseconds = query.get('mtime-nsecs')
  if (nanoseconds !== null && seconds === null) throw new HoldfastError('VALIDATION', `${where}mtime is missing`)
  const mtime = seconds === null ? undefined : { seconds: integer(seconds), nanoseconds: integer(nanoseconds ?? '0') }
  return checkedAttributes({ mode: Number.parseInt(mode, 8), mtime }, where)
}

function integer(text: string): number {
  return /^-?\d{1,16}$/.test(text) ? Number(text) : Number.NaN
}
