import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkBackup, isHoldfastError, restoreBackup } from '../../src/index.ts'
import { Draws } from '../support/draws.ts'
import { needsLinux } from '../support/needs.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { withEngine } from '../support/test-engine.ts'
import { expectRestores, filesBelow, fill, flipBit, OTHER_DISK } from './support.ts'

/** Set `ROUNDS=50 TEST_SEED=1` for a longer run. */
const ROUNDS = Number(process.env.ROUNDS ?? 8)
const SEED = Number(process.env.TEST_SEED ?? 22)
const SIZES = [100, 20_000, 40_000, 50_000, 1_500_000]

test('a check names flipped bits, and a backup without problems restores exactly', needsLinux, async () => {
  const draws = new Draws(SEED)
  const seen = { whole: 0, named: 0 }
  await withTempDir(linked =>
    withTempDir(
      copied =>
        withEngine(async test => {
          const stored = await fill(test, 'bits', { sizes: SIZES })
          const backups = [join(linked, 'backup'), join(copied, 'backup')]
          for (const backup of backups) await test.engine.backup(backup)
          for (let round = 0; round < ROUNDS; round++) {
            const backup = backups[round % 2] ?? ''
            const inBackup = filesBelow(backup).filter(name => !name.endsWith('/lock'))
            const files = draws.below(3) === 0 ? filesBelow(test.dataDir, '.data') : inBackup
            const file = files[draws.below(files.length)] ?? ''
            flipBit(file, draws.below(2 ** 31))
            const checked = await checkBackup({ backup }).catch((error: unknown) => {
              if (isHoldfastError(error, 'BACKUP_UNUSABLE')) return { problemCount: 1, problems: [error.message] }
              throw error
            })
            if (checked.problemCount === 0) {
              seen.whole++
              await expectRestores(backup, stored, { sameNode: true })
            } else {
              seen.named++
              const dataDir = join(linked, `restored-${round}`)
              const restored = await restoreBackup({ backup, dataDir, sameNode: true }).catch(() => null)
              // Only the owner file of a key directory is not needed.
              expect([file, checked.problems, restored]).toEqual([file, checked.problems, null])
              await rm(dataDir, { recursive: true, force: true })
            }
            // An upload heals the store, and the store then heals the backup.
            await test.engine.reconcile({})
            await fill(test, 'bits', { sizes: SIZES })
            await test.engine.backup(backup, { force: true })
            expect([file, (await checkBackup({ backup })).problems]).toEqual([file, []])
          }
        }),
      OTHER_DISK,
    ),
  )
  expect(seen.whole + seen.named).toBe(ROUNDS)
  if (process.env.ROUNDS !== undefined) console.log(seen)
})
