import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DatabaseOutage } from '../../../adapters/postgres/outages/database-outage.ts'
import { type NodeProcess, openNodeProcesses } from '../../support/fleet-processes.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { needsPostgres, startPostgres, type TestPostgres } from '../../support/postgres-server.ts'

test('an outage ends with a check that begins after its last failure', () => {
  const clock = new ManualClock()
  const reported: unknown[] = []
  const report = { began: (reason: string) => reported.push(reason), ended: (end: object) => reported.push(end) }
  const outage = new DatabaseOutage(clock, report)
  outage.passed({ failures: 0 })
  const { failures } = outage
  outage.failed(new Error('cut'))
  outage.passed({ failures })
  outage.failed(new Error('refused'))
  expect(reported).toEqual(['cut'])
  clock.advance(700)
  outage.passed({ failures: 2 })
  expect(reported).toEqual(['cut', { ms: 700, failures: 2 }])
  outage.failed('again')
  expect(reported.at(-1)).toBe('unknown')
})

interface Line {
  level: number
  msg: string
  status?: number
  err?: object
}

describe('the log of two nodes under load', { timeout: 120_000, ...needsPostgres }, () => {
  let postgres: TestPostgres
  let nodes: { a: NodeProcess; b: NodeProcess; close(): Promise<void> }
  let url: string
  beforeAll(async () => {
    postgres = await startPostgres()
    url = await postgres.fresh()
    nodes = await openNodeProcesses(url)
  })
  afterAll(async () => {
    await nodes?.close()
    await postgres?.stop()
  })

  const statusOf = async (node: NodeProcess, name: string): Promise<number> => {
    const form = new FormData()
    form.set('file', new Blob([name]), name)
    return (await node.call('POST', '/api/v3/files', form, { 'x-cluster': node.id === 'a' ? 'first' : 'second' }))
      .status
  }
  /** Uploads to both nodes from eight clients until each client has had this status. */
  const until = async (status: number): Promise<void> => {
    const clients = [nodes.a, nodes.b].flatMap(node => Array.from({ length: 8 }, (_, i) => ({ node, name: `${i}` })))
    await Promise.all(
      clients.map(async ({ node, name }) => {
        for (let i = 0; (await statusOf(node, `${name} ${i}`)) !== status; i++);
      }),
    )
  }
  const linesOf = (node: NodeProcess): Line[] =>
    node.server.stdout.split('\n').flatMap(line => (line.startsWith('{') ? [JSON.parse(line) as Line] : []))
  /** Returns the messages of warnings and errors. A busy machine may stall the loop, which is another warning. */
  const warningsOf = (node: NodeProcess): string[] =>
    linesOf(node).flatMap(({ level, msg }) => (level >= 40 && msg !== 'event loop stalled' ? [msg] : []))
  const OUTAGE = ['the connection to the catalogue was lost', 'the catalogue answers again']

  /** Sets whether new transactions may write. */
  const setReadOnly = async (isReadOnly: boolean): Promise<void> => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query('SET default_transaction_read_only = off')
    await client.query(`ALTER SYSTEM SET default_transaction_read_only = ${isReadOnly ? 'on' : 'off'}`)
    await client.query('SELECT pg_reload_conf()')
    await client.end()
  }
  /** Waits until each node has logged the end of this many outages, and expects no other warnings. */
  const expectOutages = async (least: number, most: number): Promise<void> => {
    for (const node of [nodes.a, nodes.b]) {
      await expect.poll(() => warningsOf(node).filter(msg => msg === OUTAGE[1]).length).toBeGreaterThanOrEqual(least)
      const pairs = Array.from({ length: most }, () => OUTAGE).flat()
      expect(warningsOf(node)).toEqual(pairs.slice(0, warningsOf(node).length))
    }
  }

  test('has one line for the start and the end of each outage', async () => {
    await until(201)
    await postgres.crash()
    await until(503)
    await postgres.start()
    await expectOutages(1, 1)
    await until(201)
    await setReadOnly(true)
    await until(503)
    await setReadOnly(false)
    await until(201)
    // The sessions of the database read a changed setting at different times, so one change may be two outages.
    await expectOutages(2, 4)
    const refused = linesOf(nodes.a).filter(({ status }) => status === 503)
    expect(refused.length).toBeGreaterThanOrEqual(16)
    expect(refused.filter(({ err }) => err !== undefined)).toEqual([])
  })
})
