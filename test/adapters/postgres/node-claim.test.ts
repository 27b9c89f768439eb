import { beforeEach, describe, expect, test } from 'vitest'
import { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { Nodes } from '../../../adapters/postgres/fleet/postgres-nodes.ts'
import { NodeClaim } from '../../../adapters/postgres/nodes/node-claim.ts'
import { CredentialChanges } from '../../../adapters/postgres/outages/credential-changes.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { needsPostgres } from '../../support/postgres-server.ts'
import { emptiedDatabase } from './opened-database.ts'

describe('a process that was cut off from the database', needsPostgres, () => {
  let database: Postgres
  let url: string
  emptiedDatabase((opened, address) => {
    database = opened
    url = address
  })
  beforeEach(async () => {
    for (const [i, name] of ['here', 'cut off'].entries()) {
      await database.command('INSERT INTO nodes (name, number, id, url) VALUES ($1, $2, $1, $1)', [name, i])
    }
  })

  interface CutOff {
    /** Lets the process connect again, and returns its problem. */
    problem(): string | null
    /** Returns the number of changed rows. */
    write(): Promise<number>
    logged: string[]
    /** Number of checks whether the database was set back. */
    checks(): number
  }
  const withCutOff = async (run: (node: CutOff) => Promise<void>): Promise<void> => {
    const own = await Postgres.open({ url })
    const clock = new ManualClock()
    const logged: string[] = []
    let checks = 0
    const past = { check: async () => void checks++ }
    const claim = new NodeClaim('cut off', problem => void logged.push(problem))
    const changes = new CredentialChanges(own, clock, past, claim)
    const connection = await own.connection()
    await claim.take(connection)
    await changes.start(connection)
    const { rows } = await connection.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    await database.command('SELECT pg_terminate_backend($1)', [rows[0]?.pid ?? 0])
    const isLocked = async () => (await new Nodes(database, clock, 'here').list())[1]?.isLocked
    await expect.poll(isLocked).toBe(false)
    const problem = () => {
      clock.advance(400)
      return changes.health.problem
    }
    try {
      await run({ problem, write: () => own.command('UPDATE nodes SET total = 1'), logged, checks: () => checks })
    } finally {
      await changes.stop()
      await own.close()
    }
  }

  test('does not start while another process has its lock', async () => {
    const [first, second] = [await database.connection(), await database.connection()]
    try {
      await new NodeClaim('here').take(first)
      await expect(new NodeClaim('here').take(second)).rejects.toMatchObject({ code: 'DATA_DIR_IN_USE' })
    } finally {
      for (const connection of [first, second]) connection.release(true)
    }
  })

  test('writes nothing if its node was given up meanwhile', async () => {
    await withCutOff(async ({ problem, write, logged, checks }) => {
      await new Nodes(database, new ManualClock(), 'here').forget('cut off', { isReplaced: true })
      await expect.poll(problem).toBe('no-claim')
      await expect(write()).rejects.toMatchObject({ code: 'UNAVAILABLE', message: expect.stringContaining('given up') })
      for (let i = 0; i < 10; i++) await expect.poll(problem).toBe('no-claim')
      expect(logged).toEqual([expect.stringContaining('given up')])
      // It has noticed no set-back of the database.
      expect(checks()).toBe(1)
    })
  })

  test('writes nothing while another process has its lock', async () => {
    const other = await database.connection()
    await withCutOff(async ({ problem, write, logged, checks }) => {
      await new NodeClaim('cut off').take(other)
      await expect.poll(problem).toBe('no-claim')
      await expect(write()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
      other.release(true)
      await expect.poll(problem).toBeNull()
      expect([await write(), checks()]).toEqual([2, 2])
      expect(logged).toEqual([expect.stringContaining('another process runs as this node')])
    })
  })

  test('continues if nobody has its lock', async () => {
    await withCutOff(async ({ problem, write, logged, checks }) => {
      await expect.poll(() => [problem(), checks()]).toEqual([null, 2])
      expect([await write(), logged]).toEqual([2, []])
    })
  })
})
