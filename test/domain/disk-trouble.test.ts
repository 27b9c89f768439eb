import { expect, test } from 'vitest'
import { diskTrouble } from '../../src/domain/disk-trouble.ts'
import { HoldfastError } from '../../src/domain/errors.ts'

const failing = (code: string, message = ''): Error => Object.assign(new Error(message), { code })

test.each([
  ['ENOSPC', 'full'],
  ['SQLITE_FULL', 'full'],
  ['EMFILE', 'short'],
  ['EIO', 'failed'],
  ['EROFS', 'failed'],
  ['SQLITE_IOERR_WRITE', 'failed'],
  // From a file system that was shut down during a write.
  ['SQLITE_CORRUPT', 'failed'],
  ['SQLITE_CORRUPT_INDEX', 'failed'],
  ['SQLITE_NOTADB', 'failed'],
  ['SQLITE_CONSTRAINT', null],
  ['ENOENT', null],
])('%s says of the disk: %s', (code, trouble) => {
  expect(diskTrouble(failing(code))).toBe(trouble)
  expect(diskTrouble(new Error('it failed', { cause: failing(code) }))).toBe(trouble)
})

test('an unknown outcome is no disk failure: a write may have happened', () => {
  const cause = failing('SQLITE_CORRUPT')
  expect(diskTrouble(new HoldfastError('OUTCOME_UNKNOWN', 'who knows', { cause }))).toBe(null)
})
