/**
 * Migrates a database and kills itself before one step. It prints the name of each step first. Arguments: the database
 * file, the number of steps to complete.
 */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import SqliteDatabase from 'better-sqlite3'

const [file = '', survived = ''] = process.argv.slice(2)
let steps = 0

function beforeStep(name: string): void {
  if (steps++ === Number(survived)) process.kill(process.pid, 'SIGKILL')
  fs.writeSync(1, `${name}\n`)
}

function stepped<Args extends unknown[]>(name: string, work: (...args: Args) => void): (...args: Args) => void {
  return (...args) => {
    beforeStep(name)
    work(...args)
  }
}

const { exec, pragma, prepare } = SqliteDatabase.prototype
const { rmSync, renameSync, fsyncSync } = fs
Object.assign(SqliteDatabase.prototype, {
  exec(this: SqliteDatabase.Database, sql: string) {
    beforeStep('exec')
    return exec.call(this, sql)
  },
  pragma(this: SqliteDatabase.Database, text: string, options?: SqliteDatabase.PragmaOptions) {
    if (text.startsWith('user_version =')) beforeStep('user_version')
    return pragma.call(this, text, options)
  },
  prepare(this: SqliteDatabase.Database, sql: string) {
    if (sql.startsWith('VACUUM')) beforeStep('VACUUM')
    return prepare.call(this, sql)
  },
})
Object.assign(fs, {
  rmSync: stepped('rm', rmSync),
  renameSync: stepped('rename', renameSync),
  fsyncSync: stepped('fsync', fsyncSync),
})
syncBuiltinESMExports()

const { Database } = await import('../../src/storage/database.ts')
const database = new Database(file)
beforeStep('open')
database.close()
