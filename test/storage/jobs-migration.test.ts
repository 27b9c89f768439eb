import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import { expect, test } from 'vitest'
import { createEngine } from '../../src/index.ts'
import { Database } from '../../src/storage/database.ts'
import { keptCopyOf } from '../../src/storage/kept-copy.ts'
import { migrations } from '../../src/storage/migrations.ts'
import { jobsSchema } from '../../src/storage/schema-jobs.ts'
import { addSearchFunctions } from '../../src/storage/search-function.ts'
import { WORK_AFTER, workAfter, workBefore } from '../support/jobs-before.ts'
import { withTempDir } from '../support/temp-dir.ts'

/** Rows of each kind, a multiple of 1,000; a run by hand has a third of a million. */
const ROWS = Number(process.env.HOLDFAST_MIGRATED_ROWS ?? 10_000)
const BEFORE = migrations.indexOf(jobsSchema)
const OPEN = `const { Database } = await import(${JSON.stringify(join(import.meta.dirname, '../../src/storage/database.ts'))})
  new Database(process.argv[1]).close()`

function writeBefore(file: string): void {
  const db = new SqliteDatabase(file)
  addSearchFunctions(db)
  for (const sql of migrations.slice(0, BEFORE)) db.exec(sql)
  db.pragma(`user_version = ${BEFORE}`)
  for (const sql of workBefore(ROWS, 'sqlite')) db.exec(sql)
  db.close()
}

/** Kills processes that migrate a database, and returns how many died before the end. */
async function killMigrations(file: string): Promise<number> {
  let kills = 0
  // Before and within the transaction: by how much its log has grown.
  for (const pages of [1, 100, 1_000]) {
    const child = spawn(process.execPath, ['--input-type=module', '-e', OPEN, file], { stdio: 'inherit' })
    const ended = once(child, 'exit')
    const watch = setInterval(() => {
      const log = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0
      const isCopied = statSync(keptCopyOf(file, BEFORE), { throwIfNoEntry: false }) !== undefined
      if (isCopied && log >= pages * 4096) child.kill('SIGKILL')
    }, 1)
    const [, signal] = (await ended) as [number | null, string | null]
    clearInterval(watch)
    if (signal === 'SIGKILL') kills++
  }
  return kills
}

test('a killed migration leaves each job of a busy database once', async () => {
  await withTempDir(async dir => {
    let file = ''
    let kills = 0
    // On a busy machine a migration may end before anything sees that it has begun.
    for (let tries = 0; kills === 0; tries++) {
      file = join(dir, `${tries}`)
      writeBefore(file)
      kills = await killMigrations(file)
    }
    const began = performance.now()
    const db = new Database(file)
    const seconds = (performance.now() - began) / 1_000
    if (ROWS > 10_000) console.log({ rows: ROWS * 3, seconds, kills, bytes: statSync(file).size })
    expect(db.prepare(WORK_AFTER).all()).toEqual(workAfter(ROWS, ''))
    const states = `SELECT (SELECT COUNT(*) FROM placements WHERE entrusted) AS entrusted,
      (SELECT COUNT(*) FROM deliveries WHERE ended) AS ended, (SELECT SUM(attempts) FROM fetches WHERE id % 10 = 1) AS attempts`
    const givenUp = Array.from({ length: ROWS / 10 }, (_, i) => (i * 10 + 1) % 7).reduce((sum, n) => sum + n, 0)
    expect(db.prepare(states).get()).toEqual({ entrusted: ROWS / 10, ended: ROWS / 10, attempts: givenUp })
    db.close()
  })
}, 600_000)

test('a job of an older database goes with its state', async () => {
  await withTempDir(async dataDir => {
    const file = join(dataDir, 'holdfast.db')
    writeBefore(file)
    await (await createEngine({ dataDir })).stop()
    const db = new Database(file)
    const jobs = (): unknown[] => db.prepare('SELECT kind, key, due_at AS dueAt FROM jobs WHERE key > ?').all(ROWS - 2)
    db.prepare('DELETE FROM webhooks').run()
    for (const table of ['fetches', 'placements']) db.prepare(`DELETE FROM ${table} WHERE id > ?`).run(ROWS - 2)
    expect(jobs()).toEqual([])
    db.close()
  })
})
