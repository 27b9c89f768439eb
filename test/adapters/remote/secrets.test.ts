import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { authorizationOf } from '../../../adapters/remote/secrets.ts'
import { withTempDir } from '../../support/temp-dir.ts'

describe('credentials of a backend', () => {
  test('are read from a file or the environment in Kubo’s form', async () => {
    await withTempDir(async dir => {
      const authFile = join(dir, 'auth')
      await writeFile(authFile, 'bearer:to:ken\n')
      expect(await authorizationOf('eu', { authFile }, {})).toBe('Bearer to:ken')
      expect(await authorizationOf('eu', { authEnv: 'AUTH' }, { AUTH: 'basic:me:a:b' })).toBe(
        `Basic ${Buffer.from('me:a:b').toString('base64')}`,
      )
      expect(await authorizationOf('eu', {}, {})).toBeNull()
    })
  })

  test.each([
    ['', 'clusters: eu.backend.authEnv AUTH is empty'],
    ['bearer:ti ger', 'clusters: eu.backend.authEnv AUTH must contain printable ASCII without spaces'],
    ['tiger', 'clusters: eu.backend.authEnv AUTH must contain bearer:<token> or basic:<user>:<password>'],
    ['basic:tiger', 'clusters: eu.backend.authEnv AUTH must contain bearer:<token> or basic:<user>:<password>'],
    ['Bearer:tiger', 'clusters: eu.backend.authEnv AUTH must contain bearer:<token> or basic:<user>:<password>'],
  ])('%j is refused and not repeated in the message', async (auth, message) => {
    const opened = authorizationOf('eu', { authEnv: 'AUTH' }, { AUTH: auth })
    await expect(opened).rejects.toMatchObject({ code: 'CONFIG_INVALID', message })
  })

  test('name the file that cannot be read', async () => {
    const opened = authorizationOf('eu', { authFile: '/nowhere/auth' }, {})
    await expect(opened).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: 'clusters: eu.backend.authFile /nowhere/auth cannot be read',
    })
  })
})
