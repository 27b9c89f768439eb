/**
 * Preloaded into a server: kills it before one of its steps, whose number is in `DIES_AT`, counted from 1. A step is a
 * statement to PostgreSQL, a script of SQLite, the sync of a file, or a change of a name on the disk.
 */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { isMainThread } from 'node:worker_threads'
import SqliteDatabase from 'better-sqlite3'
import pg from 'pg'

const CHANGES = ['rename', 'unlink', 'rm', 'mkdir', 'link', 'chmod', 'writeFile']
const last = Number(process.env.DIES_AT)
let steps = 0

/** Counts a step before each call of the methods that the object has. */
function count(owner: object, names: readonly string[]): void {
  const methods = owner as Record<string, (...args: unknown[]) => unknown>
  for (const name of names) {
    const method = methods[name]
    if (method === undefined) continue
    methods[name] = function (this: unknown, ...args) {
      if (++steps === last) process.kill(process.pid, 'SIGKILL')
      return method.apply(this, args)
    }
  }
}

if (isMainThread) {
  const file = await fs.promises.open('/dev/null')
  count(Object.getPrototypeOf(file), ['sync', 'datasync'])
  await file.close()
  count(fs.promises, CHANGES)
  count(
    fs,
    [...CHANGES, 'fsync', 'fdatasync'].map(name => `${name}Sync`),
  )
  syncBuiltinESMExports()
  count(SqliteDatabase.prototype, ['exec'])
  count(pg.Client.prototype, ['query'])
}
