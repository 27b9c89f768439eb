import { describe, expect, test, vi } from 'vitest'
import type { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { Nodes } from '../../../adapters/postgres/fleet/postgres-nodes.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { needsPostgres } from '../../support/postgres-server.ts'
import { openedDatabase } from './opened-database.ts'

describe('nodes that share a catalogue', needsPostgres, () => {
  let database: Postgres
  openedDatabase(opened => {
    database = opened
  })

  test('are up until they stop or miss heartbeats for thirty seconds', async () => {
    const add = 'INSERT INTO nodes (name, number, id, url, run) VALUES ($1, $2, $1, $1, $3)'
    for (const [i, name] of ['a', 'b'].entries()) await database.command(add, [name, i, name === 'a' ? 'run' : null])
    const clock = new ManualClock()
    const [a, b] = [new Nodes(database, clock, 'a'), new Nodes(database, clock, 'b')]
    const known = async () => {
      // The list of nodes is cached for two seconds.
      clock.advance(2_000)
      return (await a.all()).map(({ id, isThere, isLeaving, run }) => [id, isThere, isLeaving, run])
    }
    expect(await known()).toEqual([
      ['a', false, false, 'run'],
      ['b', false, false, null],
    ])
    const frames = async () => (await a.all()).map(({ readsFrames }) => readsFrames)
    expect(await frames()).toEqual([false, false])
    await database.command("UPDATE nodes SET run = 'frames-run' WHERE name = 'b'")
    clock.advance(2_000)
    expect(await frames()).toEqual([false, true])
    await database.command("UPDATE nodes SET run = NULL WHERE name = 'b'")
    await b.start()
    expect(await known()).toEqual([
      ['a', false, false, 'run'],
      ['b', true, false, null],
    ])
    await b.leave()
    expect((await a.all())[1]).toMatchObject({ isLeaving: false })
    expect((await a.all(true))[1]).toMatchObject({ isLeaving: true })
    expect((await known())[1]).toEqual(['b', true, true, null])
    const silent = "UPDATE nodes SET seen_at = clock_timestamp() - $1::interval WHERE name = 'b'"
    await database.command(silent, ['20 seconds'])
    expect((await known())[1]).toEqual(['b', true, true, null])
    await database.command(silent, ['31 seconds'])
    expect((await known())[1]).toEqual(['b', false, true, null])
    await database.command(silent, ['1 second'])
    await b.stop()
    expect((await known())[1]).toEqual(['b', false, false, null])
  })

  test('share a query in progress', async () => {
    const nodes = new Nodes(database, new ManualClock(), 'a')
    const all = vi.spyOn(database.reading, 'all')
    await Promise.all([nodes.all(true), nodes.all(true), nodes.all()])
    expect(all).toHaveBeenCalledTimes(1)
    await nodes.all(true)
    expect(all).toHaveBeenCalledTimes(2)
    all.mockRestore()
  })

  test('are not down because no node could write its heartbeat', async () => {
    const add = 'INSERT INTO nodes (name, number, id, url) VALUES ($1, $2, $1, $1)'
    for (const [i, name] of ['near', 'far'].entries()) await database.command(add, [name, 10 + i])
    const clock = new ManualClock()
    const near = new Nodes(database, clock, 'near')
    let beaten = Promise.withResolvers<void>()
    await near.start(() => beaten.resolve())
    const beatAfter = async (ms: number) => {
      beaten = Promise.withResolvers()
      clock.advance(ms)
      await beaten.promise
    }
    const isThere = async () => {
      const found = await Promise.all([near.all(true), near.list()])
      const [known, listed] = found.map(nodes => nodes.find(({ id }) => id === 'far')?.isThere)
      const refusal = await near.retire('near', 'far').catch((error: Error) => error.message)
      // The first check of a retirement that these nodes do not pass is about their heartbeats.
      expect([listed, refusal?.includes('is down')]).toEqual([known, !known])
      return known
    }
    const silent = "UPDATE nodes SET seen_at = clock_timestamp() - $1::interval WHERE name = 'far'"
    await database.command(silent, ['65 seconds'])
    expect(await isThere()).toBe(false)
    await beatAfter(60_000)
    expect(await isThere()).toBe(true)
    await database.command(silent, ['91 seconds'])
    expect(await isThere()).toBe(false)
    await database.command(silent, ['65 seconds'])
    await beatAfter(11_000)
    await database.command(silent, ['76 seconds'])
    clock.advance(2_000)
    expect(await isThere()).toBe(true)
    for (let i = 0; i < 6; i++) await beatAfter(5_000)
    expect(await isThere()).toBe(false)
  })
})
