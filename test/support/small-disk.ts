import { execFileSync } from 'node:child_process'
import { withTempDir } from './temp-dir.ts'

/** Runs with a disk in memory, and unmounts it afterwards. */
export function withSmallDisk(size: string, run: (disk: string) => Promise<void>): Promise<void> {
  return withTempDir(async disk => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'holdfast-test', disk], { stdio: 'ignore' })
    try {
      await run(disk)
    } finally {
      execFileSync('umount', [disk], { stdio: 'ignore' })
    }
  })
}

/** True if this machine lets a test mount a small disk. */
export const canMount = await withSmallDisk('1m', async () => undefined).then(
  () => true,
  () => false,
)
