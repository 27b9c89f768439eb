import { describe, expect, test } from 'vitest'
import type { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { PostgresPlaces } from '../../../adapters/postgres/holds/shared-places.ts'
import { plainNodes } from '../../../adapters/postgres/lists/private-records.ts'
import { Possessor, PUBLIC } from '../../../src/ledger/possessor.ts'
import { commit, DAG, dagOf, NO_LIMITS, NOW, record, SIZES } from '../../catalogue/content-support.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { needsPostgres } from '../../support/postgres-server.ts'
import { withNode } from './catalogue-in-postgres.ts'
import { emptiedDatabase } from './opened-database.ts'

describe('the places of content', needsPostgres, () => {
  let database: Postgres
  emptiedDatabase(opened => {
    database = opened
  })

  const placesOf = async (multihash: Uint8Array, now: number) => {
    const found = await new PostgresPlaces(database).find(multihash, new Possessor(PUBLIC, new ManualClock(now)))
    return found.map(({ node, isRoot, liveUntil }) => ({ node, isRoot, liveUntil })).sort((a, b) => a.node - b.node)
  }

  test('are the nodes with a live record of it', async () => {
    const end = NOW + 100
    const there = async (there: Parameters<typeof commit>[0]) => {
      await withNode(database, 'here', async here => {
        await commit(here, [record('r1', { expiresAt: end })])
        await commit(there, [record('r2', { accountId: 'two' })])
        const lasting = { node: 1, isRoot: true, liveUntil: null }
        expect(await placesOf(DAG.multihash, NOW)).toEqual([{ node: 0, isRoot: true, liveUntil: end }, lasting])
        expect(await placesOf(DAG.multihash, end)).toEqual([lasting])
        await there.records.discard('r2')
        expect(await placesOf(DAG.multihash, end)).toEqual([])
      })
    }
    await withNode(database, 'there', there, 1)
  })

  test('get private content without TLS only at a loopback address', async () => {
    await withNode(database, 'here', async node => {
      const at = (url: string) =>
        database.command(
          "INSERT INTO nodes (name, number, id, url) VALUES ('n', 99, 'one', $1) ON CONFLICT (name) DO UPDATE SET url = $1",
          [url],
        )
      await at('http://10.0.0.1:4100')
      await commit(node, [record('open')])
      expect(await plainNodes(database)).toEqual([])
      await commit(node, [record('closed', { owner: 77 })])
      expect(await plainNodes(database)).toEqual(['one'])
      for (const safe of ['https://10.0.0.1:4100', 'http://127.0.0.1:4100']) {
        await at(safe)
        expect(await plainNodes(database)).toEqual([])
      }
    })
  })

  test('are those of the directory for a file', async () => {
    const [directory, file] = [dagOf('d'), dagOf('f')]
    await withNode(database, 'here', async node => {
      const stagedRootId = await node.stage(0, [{ path: 'a', ...file, size: 5 }])
      const intent = { record: record('r1', { dag: directory }), backendId: 0, limits: NO_LIMITS, now: NOW }
      const dag = { ...directory, ...SIZES, fileCount: 1 }
      await node.records.commit([{ kind: 'whole', ...intent, stagedRootId, dag, isAnew: false }])
      expect(await placesOf(file.multihash, NOW)).toEqual([{ node: 0, isRoot: false, liveUntil: null }])
      await node.records.discard('r1')
      expect(await placesOf(file.multihash, NOW)).toEqual([])
      expect(await database.reading.all('SELECT 1 FROM root_files')).toEqual([])
    })
  })

  test('are found behind many directories whose records have ended', async () => {
    const file = dagOf('f')
    await withNode(database, 'here', async node => {
      for (let count = 0; count < 20; count++) {
        const directory = dagOf(`d${count}`)
        const stagedRootId = await node.stage(0, [{ path: 'a', ...file, size: 5 }])
        const ending = count < 19 ? { expiresAt: NOW + 1 } : {}
        const intent = { record: record(`r${count}`, { dag: directory, ...ending }), backendId: 0, limits: NO_LIMITS }
        const dag = { ...directory, ...SIZES, fileCount: 1 }
        await node.records.commit([{ kind: 'whole', ...intent, now: NOW, stagedRootId, dag, isAnew: false }])
      }
      expect(await placesOf(file.multihash, NOW + 1)).toEqual([{ node: 0, isRoot: false, liveUntil: null }])
    })
  })
})
