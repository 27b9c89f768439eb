import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import { expect } from 'vitest'
import { migrations } from '../../src/storage/migrations.ts'

const CHILD = join(import.meta.dirname, 'migrating-child.ts')

/** Migrates a database of an older schema, and kills the migration once before each of its steps. */
export function killAtEveryStep(file: string, schema: number): void {
  const schemas = new Set<number>()
  let kills = 0
  for (let isKilled = true; isKilled; ) {
    const { signal } = spawnSync(process.execPath, [CHILD, file, String(kills)])
    isKilled = signal === 'SIGKILL'
    if (isKilled) kills++
    if (isKilled) schemas.add(schemaOf(file))
  }
  // One transaction changes the schema: each kill leaves the old one, or at the very end the new one.
  expect(kills).toBeGreaterThan(migrations.length - schema)
  expect([...schemas]).toEqual([schema, migrations.length])
}

function schemaOf(file: string): number {
  const database = new SqliteDatabase(file, { readonly: true })
  const version = database.pragma('user_version', { simple: true }) as number
  database.close()
  return version
}
