import { describe, expect, test } from 'vitest'
import type { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { postgresSystem } from '../../../adapters/postgres/postgres-system.ts'
import { PostgresTakedowns } from '../../../adapters/postgres/postgres-takedowns.ts'
import { allTables } from '../../../src/features/feature-list.ts'
import { needsPostgres } from '../../support/postgres-server.ts'
import { emptiedDatabase } from './opened-database.ts'

describe('a database of several nodes', needsPostgres, () => {
  let database: Postgres
  let url: string
  emptiedDatabase((opened, address) => {
    database = opened
    url = address
  })

  test('lists a takedown last that was lifted and put again', async () => {
    const takedowns = new PostgresTakedowns(database)
    const put = (cid: string) => takedowns.put({ cid, path: '', status: 410, reason: '', at: 1 })
    await put('first')
    await put('second')
    expect(await takedowns.lift({ cid: 'first', path: '' }, 2)).toBe(true)
    await put('first')
    expect((await takedowns.all()).map(({ cid, liftedAt }) => [cid, liftedAt])).toEqual([
      ['second', null],
      ['first', null],
    ])
  })

  test('forgets its sealing key with the sealed secrets', async () => {
    await database.command("INSERT INTO sealing_key (id) VALUES ('lost')")
    await database.command("INSERT INTO fleet_secret (secret) VALUES ('sealed')")
    const connected = await postgresSystem.connect(url)
    try {
      await connected.forgetSealed(allTables)
      expect(await database.reading.all('SELECT * FROM sealing_key')).toEqual([])
      expect(await database.reading.all('SELECT * FROM fleet_secret')).toEqual([])
    } finally {
      await connected.close()
    }
  })
})
