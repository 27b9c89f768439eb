import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HoldfastClient } from '../../../adapters/client/index.ts'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../../support/postgres-server.ts'
import { runHoldfast, ServerProcess } from '../../support/server-process.ts'
import { withDatabase } from '../../support/store-inspection.ts'
import { withTempDir } from '../../support/temp-dir.ts'

const COUNT = 300
const KEY = 'hf_owner_key_of_the_test_0123456789abcdef'
const ENV = { HOLDFAST_BOOTSTRAP_KEY: KEY }
const NO_DELAY = { gc: { graceSeconds: 0, intervalSeconds: 0.2 }, bulk: { undoSeconds: 3 } }

interface Job {
  id: string
  state: string
  done: number
  restored: number
  failed: number
}

async function ask<T>(server: ServerProcess, method: string, path: string, body?: object): Promise<T> {
  const headers = { 'x-api-key': KEY, 'content-type': 'application/json' }
  const response = await fetch(`${server.api}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  return response.json() as Promise<T>
}

async function fill(server: ServerProcess): Promise<void> {
  const upload = async (i: number): Promise<void> => {
    const form = new FormData()
    form.append('file', new Blob([`content ${i}`]), `file ${i}`)
    await fetch(`${server.api}/files`, { method: 'POST', headers: { 'x-api-key': KEY }, body: form })
  }
  for (let i = 0; i < COUNT; i += 50) await Promise.all(Array.from({ length: 50 }, (_, j) => upload(i + j)))
}

interface Listed {
  uploads: object[]
  total: number
}

async function ended(server: ServerProcess, id: string): Promise<Job> {
  const { jobs } = new HoldfastClient({ base: server.api, key: KEY })
  return jobs.untilEnded(await jobs.get(id))
}

/** Kills the server once the job has begun, and before it has ended. */
async function killedDuring(server: ServerProcess, id: string, progress: 'done' | 'restored'): Promise<void> {
  for (;;) {
    const { job } = await ask<{ job: Job }>(server, 'GET', `/jobs/${id}`)
    if (job[progress] > 0) break
  }
  server.signal('SIGKILL')
  await server.ended()
}

/** Starts servers again and again on one directory and one catalogue. */
function servers(directory: string, config: object): () => Promise<ServerProcess> {
  const path = `${directory}/holdfast.json`
  writeFileSync(path, JSON.stringify(config))
  return () => ServerProcess.start(`${directory}/data`, ['--config', path], ENV)
}

function killedServers(catalogue: () => Promise<object>): void {
  afterAll(() => ServerProcess.killAll())

  test('completes a deletion and its undo after the restart', async () => {
    await withTempDir(async directory => {
      const start = servers(directory, { ...NO_DELAY, bulk: { undoSeconds: 60 }, ...(await catalogue()) })
      let server = await start()
      await fill(server)
      const list = '/users/me/uploads?limit=1000'
      const before = await ask<Listed>(server, 'GET', list)
      expect(before.total).toBe(COUNT)
      const filter = { createdBefore: new Date(Date.now() + 1_000).toISOString(), expected: COUNT }
      const { job } = await ask<{ job: Job }>(server, 'POST', '/jobs', { action: 'delete', filter })
      await killedDuring(server, job.id, 'done')
      server = await start()
      expect(await ended(server, job.id)).toMatchObject({ state: 'done', done: COUNT, failed: 0 })
      expect((await ask<Listed>(server, 'GET', list)).total).toBe(0)
      await ask(server, 'POST', `/jobs/${job.id}/undo`)
      await killedDuring(server, job.id, 'restored')
      server = await start()
      expect(await ended(server, job.id)).toMatchObject({ state: 'undone', restored: COUNT, failed: 0 })
      expect(await ask<Listed>(server, 'GET', list)).toEqual(before)
      const env = { HOLDFAST_API: server.api, HOLDFAST_API_KEY: KEY }
      expect((await runHoldfast(['reconcile', '--dry-run'], env)).stdout).toBe('everything fits together\n')
    })
  }, 120_000)

  test('collects the deleted content after restart and undo period', async () => {
    await withTempDir(async directory => {
      const start = servers(directory, { ...NO_DELAY, ...(await catalogue()) })
      let server = await start()
      await fill(server)
      const filter = { createdBefore: new Date(Date.now() + 1_000).toISOString(), expected: COUNT }
      const { job } = await ask<{ job: Job }>(server, 'POST', '/jobs', { action: 'delete', filter })
      await killedDuring(server, job.id, 'done')
      server = await start()
      const blocks = () =>
        withDatabase(
          `${directory}/data`,
          db => db.prepare<[], { n: number }>('SELECT COUNT(*) AS n FROM blocks').get()?.n,
        )
      await expect.poll(blocks, { timeout: 60_000, interval: 200 }).toBe(0)
      expect((await ask<{ job: Job }>(server, 'GET', `/jobs/${job.id}`)).job).toMatchObject({ done: COUNT })
    })
  }, 120_000)
}

describe('a server that is killed', () => killedServers(async () => ({})))

describe('a server that is killed, with PostgreSQL', needsPostgres, () => {
  let postgres: SharedPostgres
  beforeAll(async () => {
    postgres = await sharedPostgres()
  })
  afterAll(() => postgres?.stop())
  killedServers(async () => ({ database: await postgres.migrated() }))
})
