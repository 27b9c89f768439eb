import { expect, test } from 'vitest'
import { ACCOUNT, commit, dagOf, recordOf, withCatalogue } from './sqlite-world.ts'

test('a record that has lost its hold keeps its visibility', () =>
  withCatalogue(async world => {
    const content = world.open()
    const record = recordOf(dagOf('a'))
    await commit(world, content, [record])
    world.db.prepare('DELETE FROM holds').run()
    const hidden = content.records.setOwner({ accountId: ACCOUNT, id: record.id, owner: 77, now: 1 })
    await expect(hidden).rejects.toMatchObject({ code: 'CONFLICT' })
    expect((await content.records.get(record.id))?.owner).toBe(0)
  }))
