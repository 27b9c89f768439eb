import { describe, expect, test, vi } from 'vitest'
import { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { SharedHolds } from '../../../adapters/postgres/holds/shared-holds.ts'
import { putRoot } from '../../../adapters/postgres/holds/shared-roots.ts'
import { PostgresReconciliation } from '../../../adapters/postgres/moves/postgres-reconciliation.ts'
import { LostPace } from '../../../adapters/postgres/nodes/lost-pace.ts'
import { postgresContent } from '../../../adapters/postgres/postgres-content.ts'
import { migrate } from '../../../adapters/postgres/schema/migrate.ts'
import { migrations } from '../../../adapters/postgres/schema/schema.ts'
import { HoldfastError } from '../../../src/index.ts'
import {
  AWAY,
  commit,
  DAG,
  dagOf,
  deliver,
  listOf,
  NOW,
  record,
  request,
  SIZES,
} from '../../catalogue/content-support.ts'
import { holdsIn, rootsIn, whole } from '../../catalogue/whole-reconciliation.ts'
import { openProxy } from '../../support/database-proxy.ts'
import { needsPostgres, startPostgres, type TestPostgres } from '../../support/postgres-server.ts'
import { type TestNode, withNode } from './catalogue-in-postgres.ts'
import { emptiedDatabase } from './opened-database.ts'

const ALL_HOLDS = { after: '', limit: 1_000, mend: true }

describe('a catalogue in PostgreSQL under failures', needsPostgres, () => {
  let server: TestPostgres
  let url: string
  let database: Postgres
  const start = async () => {
    server = await startPostgres()
    return server
  }
  emptiedDatabase(
    (...opened) => {
      ;[database, url] = opened
    },
    { start },
  )

  /** Runs with a node whose connection is cut when it commits a transaction that contains `commitOf`. */
  async function withCut(
    commitOf: string,
    when: 'before' | 'after',
    run: (node: TestNode) => Promise<void>,
  ): Promise<void> {
    const proxy = await openProxy(url)
    const cut = await Postgres.open({ url: proxy.url })
    try {
      await withNode(cut, 'here', async node => {
        const met = proxy.inject({ at: { commitOf }, when, what: 'cut' })
        await run(node)
        await met
      })
    } finally {
      await cut.close()
      await proxy.stop()
    }
  }

  const holdStates = async (): Promise<string[]> => {
    const found = await database.reading.all<{ state: string }>('SELECT state FROM holds ORDER BY id')
    return found.map(({ state }) => state)
  }
  const countOf = async (table: string): Promise<number> => {
    return (await database.reading.first<{ count: number }>(`SELECT COUNT(*) AS count FROM ${table}`))?.count ?? 0
  }

  test('looks up a commit whose answer was lost and finds one record', async () => {
    await withCut('the-record', 'after', async node => {
      const [made] = await commit(node, [record('the-record')])
      expect([made?.created, made?.record.status]).toEqual([true, 'pinned'])
      expect((await node.records.page(listOf('one'), 0, 10)).total).toBe(1)
      expect([await holdStates(), holdsIn(node.ledger).length]).toEqual([['used'], 1])
    })
  })

  test('refuses a lost commit for good and releases its content', async () => {
    await withCut('the-record', 'before', async node => {
      await expect(commit(node, [record('the-record')])).rejects.toMatchObject({ code: 'UNAVAILABLE' })
      expect(await node.records.get('the-record')).toBeUndefined()
      expect([await holdStates(), holdsIn(node.ledger)]).toEqual([[], []])
      const [made] = await commit(node, [record('the-record')])
      expect(made?.created).toBe(true)
    })
  })

  test('makes the hold of a lost commit void before its refusal', async () => {
    await withCut('the-record', 'before', async node => {
      const discard = vi.spyOn(SharedHolds.prototype, 'discard').mockResolvedValue()
      await expect(commit(node, [record('the-record')])).rejects.toMatchObject({ code: 'UNAVAILABLE' })
      discard.mockRestore()
      expect(await holdStates()).toEqual(['void'])
    })
  })

  test('looks up a lost commit that still runs', async () => {
    const late = await database.connection()
    const { transaction } = Postgres.prototype
    const waits = () => database.reading.first('SELECT 1 FROM pg_locks WHERE NOT granted')
    let isLost = false
    const spied = vi.spyOn(Postgres.prototype, 'transaction').mockImplementation(async function (
      this: Postgres,
      ...of
    ) {
      const run = () => transaction.apply(this, of)
      if (!isLost) {
        return run().catch((error: HoldfastError) => {
          isLost = error.code === 'OUTCOME_UNKNOWN'
          throw error
        })
      }
      spied.mockRestore()
      await late.query("BEGIN; UPDATE holds SET state = 'used'")
      const looked = run()
      await vi.waitUntil(waits, { timeout: 60_000 })
      await late.query('COMMIT')
      return looked
    })
    try {
      await withCut('the-record', 'before', async node => {
        expect((await commit(node, [record('the-record')]))[0]?.created).toBe(true)
        expect(await holdStates()).toEqual(['used'])
      })
    } finally {
      spied.mockRestore()
      late.release(true)
    }
  })

  test('delivers a fetch only to records that wait for it meanwhile', async () => {
    await withNode(database, 'here', async node => {
      const { fetchId } = await request(node, record('r1'))
      await request(node, record('r2', { accountId: 'two' }))
      await node.fetches.start(fetchId ?? 0, NOW)
      await node.fetches.complete(fetchId ?? 0, { ...DAG, ...SIZES })
      const { place } = node.ledger
      node.ledger.place = async wanted => {
        await database.command("UPDATE records SET fetch_id = NULL, status = 'failed' WHERE id = 'r1'")
        return place.call(node.ledger, wanted)
      }
      await deliver(node, fetchId ?? 0)
      const found = await Promise.all(['r1', 'r2'].map(async id => (await node.records.get(id))?.status))
      expect([found, await holdStates(), holdsIn(node.ledger).length]).toEqual([['failed', 'pinned'], ['used'], 1])
    })
  })

  test('keeps nothing of a fetch whose last record is removed meanwhile', async () => {
    await withNode(database, 'here', async node => {
      await commit(node, [record('whole', { accountId: 'two' })])
      const { fetchId } = await request(node, record('r1', { status: 'queued' }))
      const others = holdsIn(node.ledger).length - 1
      await node.fetches.start(fetchId ?? 0, NOW)
      const { place } = node.ledger
      node.ledger.place = async wanted => {
        await node.records.discard('r1')
        await node.fetches.dropIfUnneeded(fetchId ?? 0)
        return place.call(node.ledger, wanted)
      }
      await node.fetches.complete(fetchId ?? 0, { ...DAG, ...SIZES })
      expect([await holdStates(), holdsIn(node.ledger).length, await countOf('fetches')]).toEqual([['used'], others, 0])
    })
  })

  test('records nothing for an account that is gone', async () => {
    await withNode(database, 'here', async node => {
      const orphan = commit(node, [record('r1', { accountId: 'nobody' })])
      await expect(orphan).rejects.toMatchObject({ code: 'NOT_FOUND' })
      expect([await countOf('records'), holdsIn(node.ledger)]).toEqual([0, []])
    })
  })

  test('stores an upload whose record is removed before its commit', async () => {
    await withNode(database, 'here', async node => {
      await commit(node, [record('r1')])
      const { place } = SharedHolds.prototype
      const placing = vi.spyOn(SharedHolds.prototype, 'place').mockImplementationOnce(async function (
        this: SharedHolds,
        ...wanted
      ) {
        const placed = await place.apply(this, wanted)
        await node.records.discard('r1')
        return placed
      })
      const [made] = await commit(node, [{ ...record('r2'), name: 'r1' }])
      placing.mockRestore()
      expect(made).toMatchObject({ created: true, record: { id: 'r2' } })
      expect([await holdStates(), holdsIn(node.ledger).length]).toEqual([['used'], 1])
    })
  })

  test('drops no root on which a hold begins meanwhile', async () => {
    await withNode(database, 'here', async node => {
      await commit(node, [record('r1')])
      let removed: Promise<boolean> | undefined
      await database.transaction(async sql => {
        const { id } = await putRoot(sql, 0, { ...DAG, ...SIZES })
        await sql.run("INSERT INTO holds (id, node, root_id, state) VALUES ('begun', 'here', $1, 'placing')", [id])
        removed = node.records.discard('r1')
        const waits = () => database.reading.first('SELECT 1 FROM pg_locks WHERE NOT granted')
        await vi.waitUntil(waits, { timeout: 60_000 })
      })
      expect([await removed, await countOf('roots')]).toEqual([true, 1])
    })
  })

  test('reports an unknown outcome if the commit cannot be looked up', async () => {
    await withCut('another@test', 'after', async node => {
      const change = node.accounts.change('one', { email: 'another@test' })
      await expect(change).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
      expect((await node.accounts.get('one'))?.email).toBe('another@test')
    })
  })

  test('reports a repeated commit as unknown after the disk failed', async () => {
    await withNode(database, 'here', async node => {
      await commit(node, [record('the-record')])
      const refuse = new HoldfastError('UNAVAILABLE', 'the disk has failed a write')
      const abandon = vi.spyOn(node.ledger, 'abandon').mockRejectedValue(refuse)
      const repeat = () => commit(node, [record('again', { name: 'the-record' })])
      await expect(repeat()).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
      abandon.mockRestore()
      expect((await repeat())[0]).toMatchObject({ created: false, record: { id: 'the-record' } })
    })
  })

  test('releases an expired unused hold and refuses its use', async () => {
    await withNode(database, 'here', async node => {
      const holds = new SharedHolds(database, node.ledger, 'here', id => id)
      const stagedRootId = await node.stage(0)
      const [hold] = await holds.place([{ backendId: 0, stagedRootId, dag: { ...DAG, ...SIZES }, ends: null }])
      expect((await whole(node.reconciliation).holds(ALL_HOLDS)).unwanted).toEqual([])
      await database.command("UPDATE holds SET placed_at = placed_at - INTERVAL '1 hour'")
      expect((await whole(node.reconciliation).holds(ALL_HOLDS)).unwanted).toEqual([hold?.id])
      expect([holdsIn(node.ledger), await countOf('roots')]).toEqual([[], 0])
      const use = (id: string) => database.transaction(sql => holds.use(sql, [id]))
      await expect(use(hold?.id ?? '')).rejects.toMatchObject({ code: 'UNAVAILABLE' })
      // A void hold cannot be used either, before or after the ledger has released it.
      const { id } = await holds.stage(0, NOW)
      await database.transaction(sql => holds.void(sql, [id]))
      await expect(use(id)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    })
  })

  test('releases an expired unused hold without a reconciliation', async () => {
    await withNode(database, 'here', async node => {
      const { work } = postgresContent(database, node.ledger, { name: 'here', number: 0 })
      const holds = new SharedHolds(database, node.ledger, 'here', id => id)
      await holds.place([{ backendId: 0, stagedRootId: await node.stage(0), dag: { ...DAG, ...SIZES }, ends: null }])
      await work.dropReleased()
      expect([await holdStates(), holdsIn(node.ledger).length]).toEqual([['placing'], 1])
      await database.command("UPDATE holds SET placed_at = placed_at - INTERVAL '1 hour'")
      await work.dropReleased()
      expect([await holdStates(), holdsIn(node.ledger)]).toEqual([[], []])
    })
  })

  test('a late release leaves a hold that a commit has used', async () => {
    await withNode(database, 'here', async node => {
      await commit(node, [record('r1')])
      const holds = new SharedHolds(database, node.ledger, 'here', id => id)
      const parts = { database, ledger: node.ledger, holds, external: new Set<number>(), pace: new LostPace([]) }
      await new PostgresReconciliation(parts).release([await node.holdOf('r1')], false)
      expect([await holdStates(), holdsIn(node.ledger).length]).toEqual([['used'], 1])
    })
  })

  test('discards an expired hold that the ledger never placed', async () => {
    await withNode(database, 'here', async node => {
      const holds = new SharedHolds(database, node.ledger, 'here', id => id)
      const [hold] = await holds.place([
        { backendId: 0, stagedRootId: await node.stage(0), dag: { ...DAG, ...SIZES }, ends: null },
      ])
      node.db.prepare('DELETE FROM holds WHERE id = ?').run(hold?.id ?? '')
      await whole(node.reconciliation).holds(ALL_HOLDS)
      expect([await holdStates(), await countOf('roots')]).toEqual([['placing'], 1])
      await database.command("UPDATE holds SET placed_at = placed_at - INTERVAL '1 hour'")
      await whole(node.reconciliation).holds(ALL_HOLDS)
      expect([await holdStates(), await countOf('roots')]).toEqual([[], 0])
    })
  })

  test('recounts an account without waiting for a change of it', async () => {
    await withNode(database, 'here', async node => {
      await commit(node, [record('r1')])
      const step = { accountId: 'one', limit: 100 }
      await database.transaction(async sql => {
        await sql.all("SELECT 1 FROM accounts WHERE id = 'one' FOR UPDATE")
        const count = await node.reconciliation.recount({ ...step, mend: true })
        expect(count).toMatchObject({ noted: { pins: 1 }, counted: { pins: 1 } })
      })
      await database.command("UPDATE accounts SET pins = 7, stored_bytes = 0 WHERE id = 'one'")
      const wrong = { noted: { pins: 7, storedBytes: 0 }, counted: { pins: 1, storedBytes: SIZES.charge } }
      expect(await node.reconciliation.recount({ ...step, mend: false })).toMatchObject(wrong)
      expect(await node.reconciliation.recount({ ...step, mend: true })).toMatchObject(wrong)
      expect(await node.reconciliation.recount({ ...step, mend: false })).toMatchObject({ noted: wrong.counted })
    })
  })

  test('leaves holds and records of other nodes alone', async () => {
    await withNode(database, 'there', async there => {
      await commit(there, [record('r1')])
      await withNode(database, 'here', async here => {
        const step = { after: '', limit: 100, homes: new Map([['near', 0]]), now: NOW, mend: true }
        expect((await whole(here.reconciliation).records(step)).findings).toEqual([])
        await here.records.discard('r1')
        expect([await holdStates(), holdsIn(there.ledger).length]).toEqual([['void'], 1])
        await there.records.finishRemovals()
        expect([await holdStates(), holdsIn(there.ledger)]).toEqual([[], []])
      })
    })
  })

  test('repairs no record that waits for its content meanwhile', async () => {
    await withNode(database, 'here', async node => {
      const { ledger, reconciliation } = node
      await commit(node, [record('r1')])
      await node.unhold('r1')
      const homes = new Map([['near', 0]])
      const place = ledger.place.bind(ledger)
      const placing = vi.spyOn(ledger, 'place').mockImplementationOnce(async wanted => {
        await reconciliation.requeue({
          backendId: 0,
          dag: { ...DAG, owner: 0 },
          homes,
          reason: 'a block is lost',
          now: NOW,
        })
        return place(wanted)
      })
      await whole(reconciliation).records({ after: '', limit: 100, homes, now: NOW, mend: true })
      expect(placing).toHaveBeenCalled()
      expect(await node.records.get('r1')).toMatchObject({ status: 'pinning', rootId: null })
    })
  })

  test('fetches no content that another node has taken over meanwhile', async () => {
    const fill = async (node: TestNode): Promise<void> => void (await commit(node, [record('r1')]))
    await withNode(database, 'here', fill)
    // The node is started on an empty directory.
    await withNode(database, 'here', async ({ ledger, reconciliation, records }) => {
      const stage = ledger.stage.bind(ledger)
      const staging = vi.spyOn(ledger, 'stage').mockImplementationOnce(async (...wanted) => {
        await database.command(
          `INSERT INTO holds (id, node, root_id, state) SELECT 'hold 999', 'there', root_id, 'used' FROM records`,
        )
        await database.command(`UPDATE records SET hold_id = 'hold 999'`)
        return stage(...wanted)
      })
      const homes = new Map([['near', 0]])
      await whole(reconciliation).records({ after: '', limit: 100, homes, now: NOW, mend: true })
      expect(staging).toHaveBeenCalled()
      expect(await records.get('r1')).toMatchObject({ status: 'pinned' })
      expect(await database.reading.first(`SELECT state FROM holds WHERE id = 'hold 999'`)).toEqual({ state: 'used' })
    })
  })

  test('keeps an identical upload that an older directory lacks', async () => {
    const fill = async (node: TestNode): Promise<void> => void (await commit(node, [record('r1', { name: 'same' })]))
    await withNode(database, 'here', fill)
    // The node is started on a copy of its directory from before the upload.
    await withNode(database, 'here', async node => {
      const [made] = await commit(node, [record('r2', { name: 'same' })])
      expect(made).toMatchObject({ created: false, record: { id: 'r1', status: 'pinned' } })
      await node.records.finishRemovals()
      expect([await holdStates(), holdsIn(node.ledger).length, rootsIn(node.ledger).length]).toEqual([['used'], 1, 1])
      expect(await node.records.usage('one', NOW)).toEqual({ pins: 1, expiringPins: 0, storedBytes: SIZES.charge })
    })
  })

  test('keeps quotas exact while several nodes commit', async () => {
    // A second pool: within one, transactions of an account run one at a time.
    const other = await Postgres.open({ url })
    try {
      await withNode(database, 'here', async here => {
        await withNode(other, 'there', async there => {
          const limits = { maxPins: 7, maxStorageBytes: 5 * SIZES.charge }
          const asked = Array.from({ length: 12 }, (_, i) =>
            commit(i % 2 === 0 ? here : there, [record(`r${i}`, { dag: dagOf(String.fromCharCode(97 + i)) })], limits),
          )
          const outcomes = await Promise.allSettled(asked)
          expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
          expect((await here.records.usage('one', NOW)).storedBytes).toBe(5 * SIZES.charge)
          expect([here, there].flatMap(({ ledger }) => holdsIn(ledger))).toHaveLength(5)
        })
      })
    } finally {
      await other.close()
    }
  })

  test('a restarted node marks content that an external cluster has as placed', async () => {
    await withNode(database, 'here', async node => {
      const { placements, ledger, db } = node
      await commit(node, [record('placed', { clusterId: 'far' })], { backendId: AWAY })
      const due = async () =>
        (await placements.due({ backendId: AWAY, now: NOW, after: '', accounts: 9, each: 9 })).jobs
      const placedAt = () => db.prepare<[], { at: number | null }>('SELECT placed_at AS at FROM roots').get()?.at
      const statusOf = async (): Promise<string | undefined> => (await node.records.get('placed'))?.status
      const [row] = await due()
      const begun = row && (await placements.begin(row))
      if (begun === undefined) throw new Error('nothing is due')
      const { setPlaced } = ledger
      ledger.setPlaced = () => Promise.reject(new Error('it was killed'))
      await expect(placements.placed(begun, NOW)).rejects.toThrow('it was killed')
      ledger.setPlaced = setPlaced
      expect([await statusOf(), placedAt()]).toEqual(['pinning', null])
      const [again] = await due()
      const seen = again && (await placements.begin(again))
      if (seen === undefined) throw new Error('it is not due any more')
      expect((await placements.placed(seen, NOW + 5)).isDone).toBe(true)
      expect([placedAt(), await due(), await statusOf()]).toEqual([NOW + 5, [], 'pinned'])
    })
  })

  test('keeps blocks of content that is uploaded again after its unpin', async () => {
    await withNode(database, 'here', async here => {
      const away = (id: string) => commit(here, [record(id, { clusterId: 'far' })], { backendId: AWAY })
      const placedAt = () => here.db.prepare<[], { at: number | null }>('SELECT placed_at AS at FROM roots').get()?.at
      const told = async () => {
        const row = await here.placements.find(AWAY, DAG)
        if (row !== undefined) await here.placements.placed(row, NOW)
      }
      await away('first')
      await told()
      expect(placedAt()).toBe(NOW)
      await withNode(database, 'there', async there => {
        await there.records.remove({ accountId: 'one', dag: DAG, clusterId: null, now: NOW })
      })
      const holds = new SharedHolds(database, here.ledger, 'here', id => id)
      const wanted = { backendId: AWAY, stagedRootId: await here.stage(AWAY), dag: { ...DAG, ...SIZES }, ends: null }
      await holds.place([wanted])
      expect(placedAt()).toBeNull()
      await away('second')
      await told()
      // A commit may have cleared the mark just before the placement succeeded.
      await here.ledger.setPlaced(AWAY, DAG, null)
      await away('third')
      expect(placedAt()).toBe(NOW)
    })
  })

  test('a stalled transaction loses its locks', async () => {
    const still = await Postgres.open({ url, silentMs: 1_000 })
    const touch = 'UPDATE accounts SET pins = pins + 1 WHERE id = $1'
    try {
      const met: Array<(value?: unknown) => void> = []
      const locked = new Promise(resolve => met.push(resolve))
      const goesOn = new Promise(resolve => met.push(resolve))
      const standing = still.transaction(async sql => {
        await sql.run(touch, ['one'])
        met[0]?.()
        await goesOn
        await sql.run(touch, ['two'])
      })
      await locked
      expect(await database.command(touch, ['one'])).toBe(1)
      met[1]?.()
      await expect(standing).rejects.toMatchObject({ code: 'UNAVAILABLE' })
      expect(await database.reading.all('SELECT pins FROM accounts ORDER BY id')).toEqual([{ pins: 1 }, { pins: 0 }])
      expect(await still.command(touch, ['two'])).toBe(1)
    } finally {
      await still.close()
    }
  })

  test('any node finishes an interrupted removal after a minute', async () => {
    await withNode(database, 'here', async here => {
      await commit(here, [record('r1'), record('r2'), record('later', { createdAt: NOW + 1 })])
      await database.command(
        'INSERT INTO removals (account_id, codec, multihash, created_by) VALUES ($1, $2, $3, $4)',
        ['one', DAG.codec, DAG.multihash, NOW],
      )
      await withNode(database, 'there', async there => {
        await there.records.expire(NOW + 60_000, 10)
        expect(await countOf('records')).toBe(3)
        await there.records.expire(NOW + 60_001, 10)
        const left = await database.reading.all('SELECT id FROM records')
        expect([left, await countOf('removals')]).toEqual([[{ id: 'later' }], 0])
      })
    })
  })

  test('a statement that times out has no effect', async () => {
    const hasty = await Postgres.open({ url, answerMs: 50, connections: 1 })
    try {
      await database.transaction(async sql => {
        await sql.run('UPDATE accounts SET pins = 1 WHERE id = $1', ['one'])
        const waits = hasty.command('UPDATE accounts SET pins = 2 WHERE id = $1', ['one'])
        await expect(waits).rejects.toMatchObject({ code: 'UNAVAILABLE' })
      })
      expect(await database.reading.all('SELECT pins FROM accounts ORDER BY id')).toEqual([{ pins: 1 }, { pins: 0 }])
    } finally {
      await hasty.close()
    }
  })

  test('retries deadlocked transactions until both commit', async () => {
    let attempts = 0
    const meeting: Array<() => void> = []
    const met = (): Promise<void> =>
      new Promise(resolve => {
        meeting.push(resolve)
        if (meeting.length >= 2) for (const go of meeting) go()
      })
    const inOrder = (ids: readonly string[]) =>
      database.transaction(async sql => {
        attempts++
        await sql.run('UPDATE accounts SET pins = pins + 1 WHERE id = $1', [ids[0] ?? ''])
        if (attempts <= 2) await met()
        await sql.run('UPDATE accounts SET pins = pins + 1 WHERE id = $1', [ids[1] ?? ''])
      })
    await Promise.all([inOrder(['one', 'two']), inOrder(['two', 'one'])])
    // At least one of the two was rolled back; on a slow machine both.
    expect(attempts).toBeGreaterThan(2)
    expect(await database.reading.all('SELECT pins FROM accounts')).toEqual([{ pins: 2 }, { pins: 2 }])
  })

  // feature: webhooks
  test('no other node begins a leased delivery', async () => {
    await withNode(database, 'here', async here => {
      await withNode(database, 'there', async there => {
        const webhook = {
          id: 'w',
          accountId: 'one',
          keyId: null,
          url: 'https://w',
          secret: Buffer.of(1),
          createdAt: NOW,
        }
        await here.webhooks.insert(webhook, 1)
        await commit(here, [record('r1')])
        const query = { now: NOW, after: '', accounts: 9, each: 9 }
        const id = (await here.webhooks.due(query)).jobs[0]?.id ?? 0
        const begun = await Promise.all([here, there].map(({ webhooks }) => webhooks.begin(id, NOW)))
        expect(begun.filter(one => one !== undefined)).toHaveLength(1)
        const other = begun[0] === undefined ? here : there
        expect([(await other.webhooks.due(query)).jobs, await other.webhooks.nextDue()]).toEqual([[], null])
        await database.command("UPDATE jobs SET leased_until = leased_until - INTERVAL '1 hour'")
        expect((await other.webhooks.begin(id, NOW))?.delivery.attempts).toBe(2)
      })
    })
  })
  // end

  test('a crash of the server loses no acknowledged commit', async () => {
    await withNode(database, 'here', async node => {
      const dags = Array.from({ length: 60 }, (_, i) => dagOf(String.fromCharCode(200 + i)))
      const asked = dags.map((dag, i) => commit(node, [record(`r${i}`, { dag })]).then(() => `r${i}`))
      await Promise.any(asked)
      await server.crash()
      const outcomes = await Promise.allSettled(asked)
      await server.start()
      const acknowledged = outcomes.flatMap(outcome => (outcome.status === 'fulfilled' ? outcome.value : []))
      expect(acknowledged.length).toBeGreaterThan(0)
      for (const id of acknowledged) expect((await node.records.get(id))?.status).toBe('pinned')
      const { pins, storedBytes } = await node.records.usage('one', NOW)
      expect([pins, storedBytes / SIZES.charge]).toEqual([await countOf('records'), await countOf('records')])
      const step = { after: '', limit: 100, homes: new Map([['near', 0]]), now: NOW, mend: false }
      expect((await whole(node.reconciliation).records(step)).findings).toEqual([])
      // Reconciliation later releases holds whose commit has an unknown outcome.
      await database.command("UPDATE holds SET placed_at = placed_at - INTERVAL '1 hour'")
      await whole(node.reconciliation).holds(ALL_HOLDS)
      expect(holdsIn(node.ledger)).toHaveLength(pins)
    })
  })
})

describe('the schema in PostgreSQL', needsPostgres, () => {
  test('concurrent starts migrate once and tolerate one newer version', async () => {
    const server = await startPostgres()
    const database = await Postgres.open({ url: await server.fresh() })
    try {
      const [before, after] = [migrations.slice(0, 2), migrations.slice(0, 3)]
      expect(await Promise.all([migrate(database, before), migrate(database, before)])).toEqual([2, 2])
      await migrate(database, [...before, { sql: 'CREATE TABLE more (id INTEGER);', isTolerated: true }])
      expect(await migrate(database, before)).toBe(after.length)
      await database.command('UPDATE schema_versions SET tolerated = FALSE')
      await expect(migrate(database, before)).rejects.toMatchObject({ code: 'DATA_DIR_NEWER' })
      const next = [...after, { sql: 'CREATE TABLE next (id INTEGER);', isTolerated: true }]
      await expect(migrate(database, next, false)).rejects.toMatchObject({ code: 'CONFLICT' })
      expect(await migrate(database, after)).toBe(after.length)
    } finally {
      await database.close()
      await server.stop()
    }
  })
})
