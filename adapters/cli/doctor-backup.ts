import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type CheckResult, fine, warning } from './check-result.ts'
import { countOf } from './printed-text.ts'

const DAY_MS = 86_400_000
const OLD_DAYS = 2

/** Checks the age of the newest backup in these directories or directly below them. */
export async function checkBackups(roots: readonly string[], now: number): Promise<CheckResult> {
  const below = await Promise.all(roots.map(async root => [root, ...(await directoriesIn(root))]))
  const made = (await Promise.all(below.flat().map(createdAt))).filter(at => at !== null)
  if (made.length === 0) {
    const text = roots.length === 0 ? 'no directory of backups is known' : `there is none in ${roots.join(', ')}`
    return warning('backup', text, 'run holdfast backup DIR, and name its DIR with --backup')
  }
  const days = Math.floor((now - Math.max(...made)) / DAY_MS)
  const text = `the newest is ${countOf(days, 'day')} old`
  return days <= OLD_DAYS ? fine('backup', text) : warning('backup', text, 'repeat holdfast backup DIR every day')
}

async function directoriesIn(root: string): Promise<string[]> {
  const entries = await readdir(root, { withFileTypes: true }).catch(() => [])
  return entries.filter(entry => entry.isDirectory()).map(entry => join(root, entry.name))
}

/** Returns null if the directory has no backup that can be read. */
async function createdAt(directory: string): Promise<number | null> {
  try {
    const at = Date.parse(JSON.parse(await readFile(join(directory, 'manifest.json'), 'utf8')).createdAt)
    return Number.isNaN(at) ? null : at
  } catch {
    return null
  }
}
