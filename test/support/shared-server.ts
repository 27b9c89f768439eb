import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

/** Environment variable with the path of the socket on which the process of a test run tells its server. */
export const SHARED_SOCKET = 'HOLDFAST_TEST_RUN_SOCKET'

/** The PostgreSQL server of a test run. */
interface SharedServer {
  /** URL of a database from which others are created. */
  admin: string
  /** Name of a database with the newest schema, which nobody opens. */
  template: string
}

/** Asks the process of the test run for its server, which starts with the first question. */
export async function sharedServer(path: string): Promise<SharedServer> {
  const answer = JSON.parse(await text(connect(path))) as SharedServer | { failed: string }
  if ('failed' in answer) throw new Error(answer.failed)
  return answer
}

/** Runs once for each project of a test run. The first call makes the socket, and its result stops the server. */
export default async function setUp(): Promise<(() => Promise<void>) | undefined> {
  if (process.env[SHARED_SOCKET] !== undefined) return undefined
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-run-'))
  const path = join(directory, 'socket')
  let started: ReturnType<typeof start> | undefined
  const server = createServer(async socket => {
    socket.on('error', () => undefined)
    started ??= start()
    const answer = await started.catch(error => ({ failed: String(error) }))
    socket.end(JSON.stringify({ ...answer, stop: undefined }))
  })
  await once(server.listen(path), 'listening')
  process.env[SHARED_SOCKET] = path
  return async () => {
    server.close()
    await (await started?.catch(() => undefined))?.stop()
    rmSync(directory, { recursive: true })
    delete process.env[SHARED_SOCKET]
  }
}

async function start(): Promise<SharedServer & { stop(): Promise<void> }> {
  const { startPostgres } = await import('./postgres-server.ts')
  const { Postgres } = await import('../../adapters/postgres/postgres.ts')
  const { migrate } = await import('../../adapters/postgres/migrate.ts')
  const { migrations } = await import('../../adapters/postgres/schema.ts')
  const server = await startPostgres({ settings: ['max_connections=300'] })
  const url = await server.fresh()
  const database = await Postgres.open({ url })
  await migrate(database, migrations)
  await database.close()
  const admin = Object.assign(new URL(url), { pathname: 'postgres' }).href
  return { admin, template: new URL(url).pathname.slice(1), stop: () => server.stop() }
}
