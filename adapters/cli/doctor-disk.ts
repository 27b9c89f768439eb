import { access, constants, readdir, readFile, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Finding } from './doctor-command.ts'
import { formatBytes } from './printed-text.ts'

const LARGEST_RESERVE = 64 * 1024 ** 2
const RESERVE_SHARE = 0.05
/** Below this multiple of the reserve, the free space is a warning. */
const AMPLE = 4
const DAY_MS = 86_400_000
const OLD_BACKUP_DAYS = 2
const OTHERS = 0o077

/** Checks the rights and the free space of a directory, or of the directory that would contain it. */
export async function checkDirectory(path: string, reserveBytes: number | undefined): Promise<Finding[]> {
  const check = `directory ${path}`
  const present = await nearest(path)
  const { uid, mode } = await stat(present)
  const { R_OK, W_OK, X_OK } = constants
  const isUsable = await access(present, R_OK | W_OK | X_OK).then(
    () => true,
    () => false,
  )
  const findings: Finding[] = []
  const add = (level: Finding['level'], text: string, remedy = ''): number =>
    findings.push({ check, level, text, remedy })
  if (!isUsable) add('fault', `this user cannot write ${present}`, `run as its owner (uid ${uid}), or chown it`)
  else if (present !== path) add('ok', 'missing: the first start creates it')
  else if ((mode & OTHERS) !== 0) add('warning', 'other users may enter it', `chmod 700 ${path}`)
  else add('ok', 'this user can write it')
  const { bavail, blocks, bsize } = await statfs(present)
  const [free, reserve] = [bavail * bsize, reserveBytes ?? Math.min(LARGEST_RESERVE, blocks * bsize * RESERVE_SHARE)]
  const text = `${formatBytes(free)} are free, ${formatBytes(Math.floor(reserve))} of them in reserve`
  const remedy = 'delete pins, or move the directory to a larger disk'
  if (free <= reserve) add('fault', `${text}: new content is refused`, remedy)
  else add(free < AMPLE * reserve ? 'warning' : 'ok', text, free < AMPLE * reserve ? remedy : '')
  return findings
}

async function nearest(path: string): Promise<string> {
  const isThere = await stat(path).then(
    () => true,
    () => false,
  )
  return isThere || dirname(path) === path ? path : nearest(dirname(path))
}

/** Checks the newest backup in these directories or directly below them. */
export async function checkBackups(roots: readonly string[], now: number): Promise<Finding> {
  const check = 'backup'
  const below = await Promise.all(roots.map(async root => [root, ...(await directoriesIn(root))]))
  const made = (await Promise.all(below.flat().map(createdAt))).filter(at => at !== null)
  if (made.length === 0) {
    const text = roots.length === 0 ? 'no directory of backups is known' : `there is none in ${roots.join(', ')}`
    return { check, level: 'warning', text, remedy: 'run holdfast backup DIR, and give its DIR with --backup' }
  }
  const days = Math.floor((now - Math.max(...made)) / DAY_MS)
  const text = `the newest is ${days} days old`
  if (days <= OLD_BACKUP_DAYS) return { check, level: 'ok', text, remedy: '' }
  return { check, level: 'warning', text, remedy: 'repeat holdfast backup DIR every day' }
}

async function directoriesIn(root: string): Promise<string[]> {
  const entries = await readdir(root, { withFileTypes: true }).catch(() => [])
  return entries.filter(entry => entry.isDirectory()).map(entry => join(root, entry.name))
}

async function createdAt(directory: string): Promise<number | null> {
  try {
    const at = Date.parse(JSON.parse(await readFile(join(directory, 'manifest.json'), 'utf8')).createdAt)
    return Number.isNaN(at) ? null : at
  } catch {
    return null
  }
}
