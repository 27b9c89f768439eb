import { execFile } from 'node:child_process'
import { copyFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { serverAdapters } from '../../../adapters/cli/server-adapters.ts'
import { createEngine } from '../../../src/index.ts'
import { TWO_CLUSTERS } from '../../support/fleet.ts'
import { newDirectory } from '../../support/new-database.ts'
import { needsPostgres, query, type SharedPostgres, sharedPostgres } from '../../support/postgres-server.ts'
import { withDatabase } from '../../support/store-inspection.ts'
import { withTempDir } from '../../support/temp-dir.ts'
import { Receiver } from './receiver.ts'

const CHILD = join(import.meta.dirname, 'killed-child.ts')
/** Ends the pause, or the lease, of the killed process. */
const MAKE_DUE = "UPDATE jobs SET due_at = 0 WHERE kind = 'delivery'"
const OTHER = { ...TWO_CLUSTERS, node: { id: 'b', url: 'http://127.0.0.1:9' } }
const ALLOWED = { ...serverAdapters, webhooks: { allowPrivate: true } }

async function killedIn(dataDir: string, receiver: Receiver, database = ''): Promise<void> {
  receiver.answer = response => response.writeHead(503).end()
  const args = ['--no-warnings', CHILD, dataDir, receiver.url, database]
  const killed = await promisify(execFile)(process.execPath, args).catch((error: unknown) => error)
  expect(killed).toMatchObject({ signal: 'SIGKILL' })
  receiver.answer = response => response.writeHead(204).end()
  receiver.received.length = 0
}

async function delivered(receiver: Receiver): Promise<void> {
  await expect.poll(() => receiver.received.length).toBeGreaterThan(0)
  expect(receiver.events[0]).toMatchObject({ event: 'pin:created', record: { status: 'pinned' } })
}

describe('events that a killed process has left are sent without a call', () => {
  let server: SharedPostgres | undefined
  beforeAll(async () => {
    if (needsPostgres.skip !== true) server = await sharedPostgres()
  })
  afterAll(() => server?.stop())

  test('after its next start', async () => {
    await withTempDir(async dataDir => {
      await using receiver = await new Receiver().start()
      await killedIn(dataDir, receiver)
      withDatabase(dataDir, db => db.prepare(MAKE_DUE).run())
      await using _engine = await createEngine({ ...ALLOWED, dataDir: newDirectory(dataDir) })
      await delivered(receiver)
    })
  })

  test('by another node of the database', needsPostgres, async () => {
    const database = (await server?.migrated()) ?? ''
    await withTempDir(async directory => {
      await using receiver = await new Receiver().start()
      const [killed, other] = [join(directory, 'killed'), join(directory, 'other')]
      await killedIn(killed, receiver, database)
      await query(database, MAKE_DUE.replace(' WHERE', ', leased_until = NULL WHERE'))
      await mkdir(other)
      await copyFile(join(killed, 'data.key'), join(other, 'data.key'))
      await using _engine = await createEngine({ ...ALLOWED, ...OTHER, dataDir: other, database })
      await delivered(receiver)
    })
  })

  test('by a node that is running, at its next notice', needsPostgres, async () => {
    const database = (await server?.migrated()) ?? ''
    await withTempDir(async directory => {
      await using receiver = await new Receiver().start()
      const [killed, other] = [join(directory, 'killed'), join(directory, 'other')]
      await mkdir(other)
      await using _engine = await createEngine({ ...ALLOWED, ...OTHER, dataDir: other, database })
      await mkdir(killed)
      await copyFile(join(other, 'data.key'), join(killed, 'data.key'))
      await killedIn(killed, receiver, database)
      await query(database, MAKE_DUE.replace(' WHERE', ', leased_until = NULL WHERE'))
      // Without a notice, a node looks once a minute.
      await query(database, "SELECT pg_notify('holdfast_nodes', name) FROM nodes")
      await delivered(receiver)
    })
  })
})
