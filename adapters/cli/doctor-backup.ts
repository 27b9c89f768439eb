import { newestBackup } from '../../src/backup/newest-backup.ts'
import { type CheckResult, fine, warning } from './check-result.ts'
import { countOf } from './printed-text.ts'

const DAY_MS = 86_400_000
const OLD_DAYS = 2

/** Checks the age of the newest backup in these directories or directly below them. */
export async function checkBackups(roots: readonly string[], now: number): Promise<CheckResult> {
  const newest = await newestBackup(roots)
  if (newest === null) {
    const text = roots.length === 0 ? 'no directory of backups is known' : `there is none in ${roots.join(', ')}`
    return warning('backup', text, 'run holdfast backup DIR, and name its DIR with --backup')
  }
  const days = Math.floor((now - newest) / DAY_MS)
  const text = `the newest is ${countOf(days, 'day')} old`
  return days <= OLD_DAYS ? fine('backup', text) : warning('backup', text, 'repeat holdfast backup DIR every day')
}
