import { describe, expect, test } from 'vitest'
import type { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { HoldfastError } from '../../../src/index.ts'
import { commit, dagOf, listOf, NOW, record, request, SIZES } from '../../catalogue/content-support.ts'
import { holdsIn } from '../../catalogue/whole-reconciliation.ts'
import { needsPostgres } from '../../support/postgres-server.ts'
import { blockIntent, insertToken, Turn } from './batched-commits.ts'
import { type TestNode, withNode } from './catalogue-in-postgres.ts'
import { emptiedDatabase } from './opened-database.ts'

const outcomeOf = (settled: PromiseSettledResult<Array<{ created: boolean }>>): string => {
  if (settled.status === 'fulfilled') return settled.value[0]?.created === true ? 'created' : 'repeated'
  return settled.reason instanceof HoldfastError ? settled.reason.code : String(settled.reason)
}

describe('commits of records that share a transaction', needsPostgres, () => {
  let database: Postgres
  emptiedDatabase(opened => {
    database = opened
  })

  /** Locks the account `one`, as another node does. */
  const lockOne = async (): Promise<{ release(): Promise<void> }> => {
    const { promise: released, resolve } = Promise.withResolvers<void>()
    const { promise: locked, resolve: lock } = Promise.withResolvers<void>()
    const holding = database.transaction(async sql => {
      await sql.all("SELECT 1 FROM accounts WHERE id = 'one' FOR UPDATE")
      lock()
      await released
    })
    await locked
    const release = (): Promise<void> => {
      resolve()
      return holding
    }
    return { release }
  }

  const isAnyWaiting = async (): Promise<boolean> => {
    const text = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
    return (await database.reading.first(text)) !== undefined
  }

  const inTurn = async (node: TestNode, calls: ReadonlyArray<() => Promise<Array<{ created: boolean }>>>) => {
    // The calls of one turn of the loop share each of their transactions.
    const settled = await Promise.allSettled(calls.map(call => call()))
    return { outcomes: settled.map(outcomeOf), rows: (await node.records.page(listOf('one'), 0, 1_000)).total }
  }

  test('need few transactions', async () => {
    await withNode(database, 'here', async node => {
      const turn = new Turn(database)
      const calls = Array.from({ length: 40 }, (_, i) => () => node.records.commit([blockIntent(record(`r${i}`))]))
      expect((await inTurn(node, calls)).rows).toBe(40)
      // At most one small first batch, and one with the rest.
      expect(turn.statements(/INSERT INTO records/)).toBeLessThanOrEqual(2)
      expect(turn.statements(/INSERT INTO holds/)).toBeLessThanOrEqual(2)
      turn.end()
    })
  })

  test('are decided in the order of their arrival', async () => {
    await withNode(database, 'here', async node => {
      const same = { name: 'same' }
      const limits = { maxPins: 3, maxStorageBytes: 2 * SIZES.charge }
      const made = ['a', 'a', 'b', 'c', 'a'].map((dag, i) =>
        record(`r${i}`, { dag: dagOf(dag), ...(i < 2 ? same : {}) }),
      )
      const calls = made.map(one => () => node.records.commit([blockIntent(one, { limits })]))
      const { outcomes, rows } = await inTurn(node, calls)
      // The third content exceeds the storage. The first content again costs nothing.
      expect([outcomes, rows]).toEqual([['created', 'repeated', 'created', 'QUOTA_EXCEEDED', 'created'], 3])
      expect(await node.records.usage('one', NOW)).toMatchObject({ pins: 3, storedBytes: 2 * SIZES.charge })
    })
  })

  test('take the uses of an upload token one by one', async () => {
    await withNode(database, 'here', async node => {
      await insertToken(node, 'token', 3)
      const made = ['a', 'a', 'b', 'c', 'd'].map(dag => record(`r-${dag}`, { dag: dagOf(dag), name: dag }))
      const calls = made.map((one, i) => {
        const limits = one.name === 'b' ? { maxPins: 1 } : {}
        return () => node.records.commit([blockIntent({ ...one, id: `r${i}` }, { limits })], 'token')
      })
      const { outcomes } = await inTurn(node, calls)
      // A commit that the plan refuses takes no use.
      expect(outcomes).toEqual(['created', 'repeated', 'QUOTA_EXCEEDED', 'created', 'QUOTA_EXCEEDED'])
      expect(await node.keys.uses('token')).toBe(3)
      const gone = node.records.commit([blockIntent(record('r9', { dag: dagOf('f') }))], 'no token')
      await expect(gone).rejects.toMatchObject({ code: 'INVALID_API_KEY' })
    })
  })

  test('fulfil a record that waits for the content', async () => {
    await withNode(database, 'here', async node => {
      await request(node, record('waits', { name: 'mine' }))
      const calls = ['mine', 'mine', 'other'].map(
        (name, i) => () => node.records.commit([blockIntent(record(`r${i}`, { name }))]),
      )
      expect(await inTurn(node, calls)).toEqual({ outcomes: ['repeated', 'repeated', 'created'], rows: 2 })
      expect(await node.records.get('waits')).toMatchObject({ status: 'pinned', fetchId: null })
    })
  })

  test('with one bad commit among 256 succeed but for this one', async () => {
    await withNode(database, 'here', async node => {
      await database.command(`CREATE FUNCTION refuse_bad() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN IF NEW.name = 'bad' THEN RAISE EXCEPTION 'bad'; END IF; RETURN NEW; END $$`)
      await database.command(
        'CREATE TRIGGER refuse_bad BEFORE INSERT ON records FOR EACH ROW EXECUTE FUNCTION refuse_bad()',
      )
      try {
        const calls = Array.from({ length: 256 }, (_, i) => {
          const one = record(`r${i}`, { accountId: i % 2 === 0 ? 'one' : 'two', name: i === 100 ? 'bad' : `n${i}` })
          return () => node.records.commit([blockIntent(one)])
        })
        const { outcomes } = await inTurn(node, calls)
        expect(outcomes.filter(outcome => outcome === 'created')).toHaveLength(255)
        expect(outcomes[100]).toBe('INTERNAL_ERROR')
        expect(await node.records.usage('one', NOW)).toMatchObject({ pins: 127, storedBytes: SIZES.charge })
        const held = node.db.prepare<[], { count: number }>('SELECT COUNT(*) AS count FROM holds').get()
        expect(held?.count).toBe(255)
      } finally {
        await database.command('DROP TRIGGER refuse_bad ON records')
        await database.command('DROP FUNCTION refuse_bad')
      }
    })
  })

  test('that arrive while their account is locked share its next transaction', async () => {
    await withNode(database, 'here', async node => {
      const turn = new Turn(database)
      const upload = (id: string) => node.records.commit([blockIntent(record(id))])
      const holding = await lockOne()
      const uploads = [upload('r0')]
      await expect.poll(isAnyWaiting).toBe(true)
      uploads.push(...Array.from({ length: 9 }, (_, i) => upload(`r${i + 1}`)))
      await expect.poll(() => holdsIn(node.ledger)).toHaveLength(10)
      await new Promise(resolve => setImmediate(resolve))
      await holding.release()
      expect((await Promise.all(uploads)).flat().every(({ created }) => created)).toBe(true)
      expect(turn.statements(/INSERT INTO records/)).toBe(1)
      turn.end()
    })
  })

  test('do not wait for the locked account of others', async () => {
    await withNode(database, 'here', async node => {
      const upload = (id: string, accountId: string) => commit(node, [record(id, { accountId })])
      const holding = await lockOne()
      const ended: string[] = []
      const waiting = ['r1', 'r2'].map(id => upload(id, 'one').then(() => ended.push(id)))
      await Promise.all(['t1', 't2', 't3'].map(id => upload(id, 'two').then(() => ended.push(id))))
      for (let i = 4; i < 10; i++) await upload(`t${i}`, 'two')
      waiting.push(upload('r3', 'one').then(() => ended.push('r3')))
      expect(ended.toSorted()).toEqual(['t1', 't2', 't3'])
      await holding.release()
      await Promise.all(waiting)
      expect(ended.slice(3)).toEqual(['r1', 'r2', 'r3'])
    })
  })

  test('repair a damaged block of a known record', async () => {
    await withNode(database, 'here', async node => {
      const [first] = await node.records.commit([blockIntent(record('r1'))])
      node.db.prepare('UPDATE small_blocks SET bytes = ?').run(Buffer.from('damaged'))
      const [again] = await node.records.commit([blockIntent({ ...record('r2'), name: 'r1' })])
      node.db.prepare('UPDATE small_blocks SET bytes = ?').run(Buffer.from('damaged'))
      const [other] = await node.records.commit([blockIntent(record('r3'))])
      expect([first, again, other].map(made => [made?.created, made?.healed])).toEqual([
        [true, false],
        [false, true],
        [true, true],
      ])
    })
  })
})
