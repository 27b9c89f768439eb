import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { joinFleet } from '../../../adapters/postgres/fleet/join-fleet.ts'
import { Nodes } from '../../../adapters/postgres/fleet/postgres-nodes.ts'
import { NodeClaim } from '../../../adapters/postgres/nodes/node-claim.ts'
import { changeState } from '../../../adapters/postgres/nodes/node-states.ts'
import { migrate } from '../../../adapters/postgres/schema/migrate.ts'
import { migrations } from '../../../adapters/postgres/schema/schema.ts'
import type { CopySets } from '../../../src/catalogue/copies.ts'
import type { NodeName } from '../../../src/catalogue/shared-catalogue.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../../support/postgres-server.ts'

describe('joining a fleet', needsPostgres, () => {
  let server: SharedPostgres
  let database: Postgres
  beforeAll(async () => {
    server = await sharedPostgres()
  })
  beforeEach(async () => {
    database = await Postgres.open({ url: await server.migrated() })
    await migrate(database, migrations)
    return () => database.close()
  })
  afterAll(() => server?.stop())

  const joinAs = (name: string, id: string, known = false, more: Partial<NodeName> = {}, copySets: CopySets = {}) =>
    database.transaction(sql =>
      joinFleet(
        sql,
        { known: known ? name : null, former: [], isAsNew: false, make: () => name, ...more },
        {
          address: { id, url: `http://${id}` },
          clusterNodes: { first: 'c' },
          copySets,
          newSecret: () => new Uint8Array(1),
          run: 'r',
        },
      ),
    )
  const listed = async () => {
    const nodes = await new Nodes(database, new ManualClock(), 'dir-a').list()
    return nodes.map(({ name, id, number, state, isLocked }) => [name, id, number, state, isLocked])
  }

  test('refuses a second directory with the id of a lost node', async () => {
    await joinAs('dir-a', 'a')
    await joinAs('dir-c', 'c')
    await expect(joinAs('dir-d', 'c')).rejects.toThrow('run "holdfast node forget c" on another node')
    expect(await database.transaction(sql => changeState(sql, 'dir-c', { from: 'active', to: 'forgetting' }))).toBe(
      true,
    )
    await joinAs('dir-d', 'c')
    expect(await listed()).toEqual([
      ['dir-a', 'a', 0, 'active', false],
      ['dir-c', 'c', 1, 'forgetting', false],
      ['dir-d', 'c', 2, 'active', false],
    ])
  })

  test('refuses a configuration with a copy on a node that retires', async () => {
    await joinAs('dir-a', 'a')
    await joinAs('dir-b', 'b')
    const sets = { near: { nodes: ['a', 'b'], copies: 2 } }
    await joinAs('dir-d', 'd', false, {}, sets)
    for (const [from, to, how] of [
      ['active', 'retiring', 'is retiring'],
      ['retiring', 'retired', 'has retired'],
    ] as const) {
      await database.transaction(sql => changeState(sql, 'dir-b', { from, to }))
      await expect(joinAs('dir-e', 'e', false, {}, sets)).rejects.toThrow(`near is on the node b, which ${how}`)
    }
  })

  test('never gives the number of an ended node to another', async () => {
    await joinAs('dir-a', 'a')
    await joinAs('dir-c', 'c')
    await database.transaction(sql => changeState(sql, 'dir-c', { from: 'active', to: 'forgotten' }))
    expect(await joinAs('dir-d', 'd')).toMatchObject({ number: 2 })
    expect((await new Nodes(database, new ManualClock(), 'dir-a').all()).map(({ id }) => id)).toEqual(['a', 'd'])
  })

  test('refuses the directory of a node that was given up', async () => {
    await joinAs('dir-a', 'a')
    await joinAs('dir-c', 'c')
    for (const [from, to] of [
      ['active', 'forgetting'],
      ['forgetting', 'forgotten'],
    ] as const) {
      await database.transaction(sql => changeState(sql, 'dir-c', { from, to }))
      await expect(joinAs('dir-c', 'c', true)).rejects.toThrow('the node c of this data directory was given up')
    }
  })

  test('only the directory of a forgotten node joins as a new node', async () => {
    await joinAs('dir-a', 'a')
    await joinAs('dir-c', 'c')
    const asNew = { isAsNew: true, make: () => 'dir-d' }
    await expect(joinAs('dir-x', 'x', false, asNew)).rejects.toThrow('has not joined the database yet')
    await expect(joinAs('dir-c', 'c', true, asNew)).rejects.toThrow('is not of a node that was given up')
    await database.transaction(sql => changeState(sql, 'dir-c', { from: 'active', to: 'retired' }))
    await expect(joinAs('dir-c', 'c', true, asNew)).rejects.toThrow('was retired: start with an empty data directory')
    await database.transaction(sql => changeState(sql, 'dir-c', { from: 'retired', to: 'forgotten' }))
    expect(await joinAs('dir-c', 'c', true, asNew)).toMatchObject({ name: 'dir-d', number: 2 })
    const again = { ...asNew, former: ['dir-c'] }
    expect(await joinAs('dir-d', 'c', true, again)).toMatchObject({ name: 'dir-d', number: 2, returned: null })
    expect(await waiting()).toEqual(['dir-d'])
  })

  test('a directory renamed before a crash joins as a new node', async () => {
    await joinAs('dir-a', 'a')
    await joinAs('dir-c', 'c')
    await database.transaction(sql => changeState(sql, 'dir-c', { from: 'active', to: 'forgotten' }))
    const renamed = { former: ['dir-c'], make: () => 'another name' }
    expect(await joinAs('dir-d', 'c', true, renamed)).toMatchObject({
      name: 'dir-d',
      number: 2,
      returned: { problem: expect.stringContaining('node c') },
    })
    expect(await waiting()).toEqual(['dir-d'])
  })

  /** Names of the nodes that have content to offer. */
  const waiting = async () =>
    (
      await database.reading.all<{ name: string }>(
        'SELECT name FROM nodes WHERE offered IS DISTINCT FROM (SELECT id FROM set_backs ORDER BY seq DESC LIMIT 1) AND NOT state = $1',
        ['forgotten'],
      )
    ).map(({ name }) => name)

  test('neither hides nor gives up a node whose process holds its lock', async () => {
    await joinAs('dir-a', 'a')
    await joinAs('dir-c', 'c')
    const nodes = new Nodes(database, new ManualClock(), 'dir-a')
    const connection = await database.connection()
    try {
      await new NodeClaim('dir-c').take(connection)
      expect(await listed()).toEqual([
        ['dir-a', 'a', 0, 'active', false],
        ['dir-c', 'c', 1, 'active', true],
      ])
      await expect(nodes.forget('c', { isReplaced: true })).rejects.toThrow('a process is running as the node c')
    } finally {
      connection.release(true)
    }
    await expect.poll(async () => (await listed())[1]?.[4]).toBe(false)
    await expect(nodes.forget('c')).rejects.toThrow('was started with the cluster')
    await nodes.forget('c', { isReplaced: true })
    expect((await listed())[1]).toEqual(['dir-c', 'c', 1, 'forgetting', false])
  })
})
