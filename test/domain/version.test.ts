import { expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import lockfile from '../../package-lock.json' with { type: 'json' }
import { VERSION } from '../../src/domain/version.ts'

test('the code, the package and its lockfile have one version', () => {
  expect([VERSION, lockfile.version, lockfile.packages[''].version]).toEqual(Array(3).fill(manifest.version))
})
