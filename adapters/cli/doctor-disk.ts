import { access, constants, readdir, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { defaultReserve, isHoldfastError, readSchema } from '../../src/index.ts'
import { type CheckResult, fault, fine, warning } from './check-result.ts'
import { formatBytes } from './printed-text.ts'

/** Below this multiple of the reserve, the free space is a warning. */
const AMPLE = 4
const OTHERS = 0o077
/** Time in ms by which a file may be newer than the clock, because file systems round. */
const ROUNDING_MS = 2_000
const SPACE_REMEDY = 'delete pins, or move the directory to a larger disk'

export interface CheckedDirectory {
  path: string
  reserveBytes: number | undefined
}

/** Checks the data directory: its schema, its permissions and its space. */
export async function checkDataDirectory(directory: CheckedDirectory, isRunning: boolean): Promise<CheckResult[]> {
  const [problem, ...others] = await checkDirectory(directory)
  if (problem === undefined || problem.level === 'fault') return [problem ?? [], others].flat()
  return [await checkContents(directory.path, isRunning), problem, ...others]
}

/** Checks the directory of a cluster: its mark, its permissions and its space. */
export async function checkClusterDirectory(directory: CheckedDirectory): Promise<CheckResult[]> {
  const findings = await checkDirectory(directory)
  const [first] = findings
  if (first?.level === 'fault' || (await isThere(join(directory.path, 'identity')))) return findings
  const remedy = 'if the cluster has stored content, mount its disk; otherwise the first start marks the directory'
  return [warning(checkOf(directory.path), 'it has no mark of a cluster (identity)', remedy), ...findings]
}

/** Checks the permissions and the space of a directory, or of the directory that would contain it. */
async function checkDirectory({ path, reserveBytes }: CheckedDirectory): Promise<CheckResult[]> {
  const check = checkOf(path)
  const present = await nearest(path)
  const { uid, mode } = await stat(present)
  const { R_OK, W_OK, X_OK } = constants
  const refusal = await access(present, R_OK | W_OK | X_OK).then(() => null, codeOf)
  if (refusal === 'ENOTDIR' || !(await stat(present)).isDirectory()) {
    return [fault(check, `${present} is not a directory`, 'name a directory with --data-dir or in the configuration')]
  }
  if (refusal !== null) {
    const remedy = refusal === 'EROFS' ? 'mount it writable' : `run as its owner (uid ${uid}), or change the owner`
    return [fault(check, `this user cannot write ${present} (${refusal})`, remedy)]
  }
  const isOpen = process.getuid !== undefined && present === path && (mode & OTHERS) !== 0
  const access_ = isOpen
    ? warning(check, 'other users of this machine may enter it', `chmod 700 ${path}`)
    : fine(check, present === path ? 'this user can write it' : `this user can create it in ${present}`)
  return [access_, await checkSpace(check, present, reserveBytes)]
}

async function checkSpace(check: string, present: string, reserveBytes: number | undefined): Promise<CheckResult> {
  const { bavail, blocks, bsize, files, ffree } = await statfs(present)
  const free = bavail * bsize
  const reserve = reserveBytes ?? defaultReserve(blocks * bsize)
  const text = `${formatBytes(free)} free, the reserve is ${formatBytes(reserve)}`
  if (files > 0 && ffree === 0) return fault(check, 'the file system has no free inode', SPACE_REMEDY)
  if (free <= reserve) return fault(check, `${text}: new content is refused`, SPACE_REMEDY)
  return free < AMPLE * reserve ? warning(check, text, SPACE_REMEDY) : fine(check, text)
}

/** Checks whether this is a data directory, and of which version. Opens no database. */
async function checkContents(path: string, isRunning: boolean): Promise<CheckResult> {
  const check = checkOf(path)
  const wrong = 'check --data-dir and HOLDFAST_DATA_DIR, and mount the disk of the node'
  try {
    const schema = await readSchema(path)
    if (schema === null) return checkWithoutDatabase(path, await namesIn(path), wrong)
    const { version, newest } = schema
    if (version > newest) {
      const text = `a newer Holdfast wrote schema ${version}, this one knows up to ${newest}`
      return fault(check, text, 'run the version of Holdfast that wrote it, or a later one')
    }
    if (isRunning || version === newest || version === 0) return fine(check, 'a data directory')
    return warning(check, `schema ${version} of an older Holdfast`, `back up: the next start migrates it to ${newest}`)
  } catch (error) {
    if (!isHoldfastError(error)) throw error
    const isOthers = codeOf(error.cause as NodeJS.ErrnoException) === 'EACCES'
    const remedy = isOthers
      ? 'run as its owner, or change the owner'
      : 'restore a backup, or name the right directory with --data-dir'
    return fault(check, error.message, remedy)
  }
}

function checkWithoutDatabase(path: string, names: readonly string[] | null, wrong: string): CheckResult {
  const check = checkOf(path)
  if (names?.includes('blocks') || names?.includes('datastore')) {
    return fault(check, 'it has blocks or keys, but no holdfast.db', `${wrong}, or restore a backup`)
  }
  const text =
    names === null ? 'missing' : names.length === 0 ? 'empty' : 'no data directory, and it has files of something else'
  return warning(check, `${text}: the first start makes it a new data directory`, `if the node has content, ${wrong}`)
}

/** Checks that no file of the data directory is newer than the clock, as after a start without a clock battery. */
export async function checkClockBehind(dataDir: string, now: number): Promise<CheckResult> {
  const times = ['holdfast.db', 'holdfast.db-wal'].map(name => stat(join(dataDir, name)).catch(() => null))
  const newest = Math.max(...(await Promise.all(times)).map(seen => seen?.mtimeMs ?? 0))
  if (newest <= now + ROUNDING_MS) return fine('clock', 'not behind the last write of the data directory')
  const text = `${Math.round((newest - now) / 1_000)} seconds behind the last write of the data directory`
  return fault('clock', text, 'set the clock, and synchronize it with NTP')
}

function checkOf(path: string): string {
  return `directory ${path}`
}

async function namesIn(path: string): Promise<string[] | null> {
  return readdir(path).catch(() => null)
}

async function nearest(path: string): Promise<string> {
  return (await isThere(path)) || dirname(path) === path ? path : nearest(dirname(path))
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

function codeOf(error: NodeJS.ErrnoException | undefined): string {
  return error?.code ?? String(error)
}
