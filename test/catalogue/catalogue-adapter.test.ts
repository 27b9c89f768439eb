import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { connectAccounts, createEngine, moveCatalogue, replaceDataKey } from '../../src/index.ts'
import { withTempDir } from '../support/temp-dir.ts'

/** A port on which nothing listens. */
const database = 'postgres://127.0.0.1:1/nowhere'

describe('a database without its adapter', () => {
  const uses: ReadonlyArray<[name: string, use: (dataDir: string) => Promise<unknown>]> = [
    ['createEngine', dataDir => createEngine({ dataDir, database })],
    ['connectAccounts', dataDir => connectAccounts({ dataDir, config: { database } })],
    ['moveCatalogue', dataDir => moveCatalogue({ dataDir, to: database } as never)],
    ['replaceDataKey', dataDir => replaceDataKey(dataDir, { database })],
  ]

  test.each(uses)('is refused by %s, which names the import and creates nothing', async (_, use) => {
    await withTempDir(async dir => {
      const dataDir = join(dir, 'data')
      await expect(use(dataDir)).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining("import { postgres } from 'holdfast/postgres'"),
      })
      expect(existsSync(dataDir)).toBe(false)
    })
  })
})
