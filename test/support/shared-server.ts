import { execFile } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statfsSync,
} from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'

/** Environment variable with the path of the socket on which the process of a test run answers its tests. */
const SHARED_SOCKET = 'HOLDFAST_TEST_RUN_SOCKET'
/** Environment variable with a directory on a disk. The temporary files of a run are in memory, if it has enough. */
const DISK = 'HOLDFAST_TEST_DISK'
/** In the repository, so that Node resolves packages that the bundle lacks. */
const CACHES = join(import.meta.dirname, '../../node_modules/.cache')
/** Directory of the code that Node has compiled from the sources. */
export const COMPILED = join(CACHES, 'compiled')

/** The parts that all files of a test run share. Each part starts when a test first asks for it. */
interface Shared {
  postgres: {
    /** URL of a database from which others are created. */
    admin: string
    /** Name of a database with the newest schema, which nobody opens. */
    template: string
  }
  /** The command line and server as its package has it, which starts in half the time of its sources. */
  program: {
    /** Path of the entry point. */
    main: string
  }
}

type Started<Part> = Part & { stop(): Promise<void> | void }

/** Asks the process of the test run for a part. Resolves with null outside a test run. */
export async function shared<Name extends keyof Shared>(name: Name): Promise<Shared[Name] | null> {
  const path = process.env[SHARED_SOCKET]
  if (path === undefined) return null
  const socket = connect({ path, allowHalfOpen: true })
  socket.end(name)
  const answer = JSON.parse(await text(socket)) as Shared[Name] | { failed: string }
  if ('failed' in answer) throw new Error(answer.failed)
  return answer
}

/** File system in memory, on Linux. An engine starts in it in a fifth of the time, because nothing waits for a disk. */
const MEMORY = '/dev/shm'
/** Begin of the name of a run's directory, before the id of its process. */
const RUN = 'holdfast-run-'
/** Free bytes in memory that a test run needs. */
const LEAST_MEMORY = 8 * 1024 ** 3

/**
 * Runs once for each project of a test run. The first call makes the socket and the directory of all temporary files. Its
 * result stops what has started, and removes them.
 */
export default async function setUp(): Promise<(() => Promise<void>) | undefined> {
  if (process.env[SHARED_SOCKET] !== undefined) return undefined
  const disk = tmpdir()
  removeKilledRuns()
  const directory = realpathSync(mkdtempSync(join(hasMemory() ? MEMORY : disk, `${RUN}${process.pid}-`)))
  // PostgreSQL and some commands run as other users.
  chmodSync(directory, 0o1777)
  const path = join(directory, 'socket')
  const starts = { postgres, program }
  const started = new Map<string, Promise<Started<object>>>()
  const server = createServer({ allowHalfOpen: true }, async socket => {
    socket.on('error', () => undefined)
    const name = (await text(socket)) as keyof Shared
    const starting = started.get(name) ?? starts[name]()
    started.set(name, starting)
    const answer = await starting.catch(error => ({ failed: String(error) }))
    socket.end(JSON.stringify({ ...answer, stop: undefined }))
  })
  await once(server.listen(path), 'listening')
  Object.assign(process.env, { [SHARED_SOCKET]: path, TMPDIR: directory, [DISK]: disk })
  // Threads and programs of the tests load the same sources again and again.
  process.env.NODE_COMPILE_CACHE ??= COMPILED
  return async () => {
    server.close()
    for (const part of started.values()) await (await part.catch(() => undefined))?.stop()
    process.env.TMPDIR = disk
    rmSync(directory, { recursive: true, force: true, maxRetries: 3 })
    delete process.env[SHARED_SOCKET]
  }
}

/** Frees the memory of runs whose process was killed. */
function removeKilledRuns(): void {
  for (const name of existsSync(MEMORY) ? readdirSync(MEMORY) : []) {
    const pid = Number(name.startsWith(RUN) ? name.slice(RUN.length).split('-')[0] : Number.NaN)
    if (pid > 0 && !isRunning(pid)) rmSync(join(MEMORY, name), { recursive: true, force: true })
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/** Returns whether a file system in memory has room and runs programs. */
function hasMemory(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n')
    const runs = mounts.some(line => line.includes(` ${MEMORY} tmpfs `) && !line.includes('noexec'))
    return runs && bavail * bsize >= LEAST_MEMORY
  } catch {
    return false
  }
}

async function program(): Promise<Started<Shared['program']>> {
  mkdirSync(CACHES, { recursive: true })
  const directory = mkdtempSync(join(CACHES, 'program-'))
  const stop = (): void => rmSync(directory, { recursive: true })
  try {
    await promisify(execFile)(process.execPath, [join(import.meta.dirname, '../../tools/bundle.ts'), directory])
    return { main: join(directory, 'main.js'), stop }
  } catch (error) {
    stop()
    throw error
  }
}

async function postgres(): Promise<Started<Shared['postgres']>> {
  const { startPostgres } = await import('./postgres-server.ts')
  const { Postgres } = await import('../../adapters/postgres/database/postgres.ts')
  const { migrate } = await import('../../adapters/postgres/schema/migrate.ts')
  const { migrations } = await import('../../adapters/postgres/schema/schema.ts')
  const server = await startPostgres({ settings: ['max_connections=300'] })
  const url = await server.fresh()
  const database = await Postgres.open({ url })
  await migrate(database, migrations)
  await database.close()
  const admin = Object.assign(new URL(url), { pathname: 'postgres' }).href
  return { admin, template: new URL(url).pathname.slice(1), stop: () => server.stop() }
}
