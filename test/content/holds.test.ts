import { expect, test } from 'vitest'
import { Holds } from '../../src/ledger/holds.ts'
import { RootTable } from '../../src/ledger/root-table.ts'
import { dagOf, SIZES } from '../catalogue/content-support.ts'
import { newDatabase } from '../support/new-database.ts'
import { withTempDir } from '../support/temp-dir.ts'

test('a root lives until its last hold ends', () =>
  withTempDir(async dir => {
    const db = newDatabase(dir)
    const roots = new RootTable(db)
    const holds = new Holds(db, roots)
    const id = roots.insert(0, { ...dagOf('a'), ...SIZES }, 0)
    const ends: Array<number | null | undefined> = []
    const after = (change: () => unknown): void => {
      change()
      ends.push(roots.get(id)?.liveUntil)
    }
    after(() => holds.place('short', id, 1_000))
    after(() => holds.place('endless', id, null))
    after(() => holds.place('long', id, 2_000))
    after(() => holds.release('endless'))
    after(() => holds.release('long'))
    after(() => holds.place('shorter', id, 500))
    after(() => holds.release('shorter'))
    expect(ends).toEqual([1_000, null, null, 2_000, 1_000, 1_000, 1_000])
    holds.release('short')
    expect(roots.find(0, dagOf('a'), 0)).toBeUndefined()
    db.close()
  }))
