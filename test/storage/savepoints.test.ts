import { readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Database } from '../../src/storage/database.ts'
import { needsLinux } from '../support/needs.ts'
import { withTempDir } from '../support/temp-dir.ts'

/** Returns the open files of this process that have no name. */
function namelessFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap(fd => {
    try {
      const target = readlinkSync(`/proc/self/fd/${fd}`)
      return target.startsWith('/') && target.endsWith(' (deleted)') ? [target] : []
    } catch {
      return []
    }
  })
}

test('a savepoint keeps its undo data in memory, not in a file', needsLinux, () =>
  withTempDir(async dir => {
    const db = new Database(join(dir, 'holdfast.db'))
    try {
      db.transaction(() => db.prepare('CREATE TABLE kept (id INTEGER PRIMARY KEY, bytes BLOB)').run())
      const insert = db.prepare<[number]>('INSERT INTO kept VALUES (?, randomblob(3000))')
      const change = db.prepare<[number]>('UPDATE kept SET bytes = randomblob(3000) WHERE id = ?')
      db.transaction(() => {
        for (let id = 0; id < 100; id++) insert.run(id)
      })
      const before = namelessFiles()
      const opened = db.transaction(() =>
        db.transaction(() => {
          for (let id = 0; id < 100; id++) change.run(id)
          return namelessFiles()
        }),
      )
      expect(opened).toEqual(before)
    } finally {
      db.close()
    }
  }),
)
