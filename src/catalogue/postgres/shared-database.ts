import { randomUUID } from 'node:crypto'
import type { PoolClient } from 'pg'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { CredentialChanges } from './credential-changes.ts'
import { DatabasePast, type KeptPast } from './database-past.ts'
import { migrate } from './migrate.ts'
import { takeUp } from './move-in.ts'
import { NodeClaim } from './node-claim.ts'
import { Nodes } from './nodes.ts'
import { Postgres, type PostgresOptions } from './postgres.ts'
import { migrations } from './schema.ts'
import { agreeOnKey } from './sealing-key.ts'
import type { Sql } from './sql.ts'

/** The database of a catalogue that is kept elsewhere, and as what it knows this node. */
export interface SharedDatabase {
  database: Postgres
  /** The data directory: its name, and the number by which its backends are told from others'. */
  node: { name: string; number: number }
  changes: CredentialChanges
  /** Who else shares it; null for a node that is alone. */
  fleet: Fleet | null
  past: DatabasePast
  close(): Promise<void>
}

/** What nodes that share a catalogue know of each other. */
export interface Fleet {
  nodes: Nodes
  /** What they prove to each other that they are of one fleet by, sealed. */
  secret: Uint8Array
  /** Random, made anew with each start: proofs for an earlier run of this node are refused. */
  run: string
}

/** As what the others know a node, and where they reach it. */
export interface NodeAddress {
  id: string
  url: string
}

/** The name of a data directory. */
export interface NodeName {
  /** Null if it has none yet. */
  known: string | null
  /** Gives it one for ever; called once it is known that it may join, and may be called again. */
  make(): string
}

export interface SharedOptions {
  url: string
  clock: Clock
  onError: (error: Error) => void
  past: KeptPast
  onProblem: (problem: string) => void
  /** Opens what this node seals with, which has to be the key of that name, and returns its name; see {@link agreeOnKey}. */
  openKey: (expected: string | null) => string
  /** Makes what nodes prove to each other that they are of one fleet by, sealed; called once the key is open. */
  newSecret: () => Uint8Array
  /** Null for a node that is alone. */
  address: NodeAddress | null
}

/**
 * Opens the database, brings its schema up, and joins it: as the one node there is, or as one of those that have addresses.
 *
 * @throws HoldfastError `CONFIG_INVALID` if it is not PostgreSQL 15 or newer, another directory's, or `pg` is missing;
 * `DATA_DIR_IN_USE` if a copy of the directory is in use; `UNAVAILABLE`, `DATA_DIR_NEWER`
 */
export async function openShared(options: SharedOptions, name: NodeName): Promise<SharedDatabase> {
  const database = await openMigrated(options)
  let connection: PoolClient | null = null
  try {
    const { address, clock, openKey, newSecret } = options
    await agreeOnKey(database, openKey)
    connection = await database.connection()
    if (name.known !== null) await new NodeClaim(name.known).take(connection)
    if (name.known !== null) await takeUp(database, name.known)
    const run = randomUUID()
    const { secret, ...node } = await database.transaction(sql => join(sql, name, { address, newSecret, run }))
    const claim = new NodeClaim(node.name)
    await claim.take(connection)
    const past = new DatabasePast(options.past, options.onProblem)
    const changes = new CredentialChanges(database, clock, past, claim)
    const first = connection
    connection = null
    await changes.start(first)
    const fleet = address === null ? null : { nodes: new Nodes(database, clock, node.name), secret, run }
    const close = async (): Promise<void> => {
      await changes.stop()
      await database.close()
    }
    return { database, node, changes, past, fleet, close }
  } catch (error) {
    connection?.release(true)
    await database.close()
    throw error
  }
}

/**
 * Opens a database and brings its schema up. The caller closes it.
 *
 * @throws HoldfastError as {@link openShared}
 */
export async function openMigrated(options: PostgresOptions, mayMigrate = true): Promise<Postgres> {
  const database = await Postgres.open(options)
  try {
    await checkVersion(database)
    await migrate(database, migrations, mayMigrate)
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

async function checkVersion(database: Postgres): Promise<void> {
  const text = `SELECT current_setting('server_version_num')::integer AS version`
  const found = await database.reading.first<{ version: number }>(text)
  if ((found?.version ?? 0) >= 150_000) return
  throw new HoldfastError('CONFIG_INVALID', 'database: PostgreSQL 15 or newer is needed')
}

async function join(
  sql: Sql,
  { known, make }: NodeName,
  { address, newSecret, run }: Pick<SharedOptions, 'address' | 'newSecret'> & { run: string },
) {
  await sql.run('LOCK TABLE nodes IN EXCLUSIVE MODE')
  if ((await sql.first('SELECT 1 FROM moves LIMIT 1')) !== undefined) {
    throw new HoldfastError('CONFIG_INVALID', 'database: the catalogue of another data directory is being moved to it')
  }
  const all = await sql.all<{ name: string; number: number; id: string | null }>('SELECT name, number, id FROM nodes')
  const others = all.filter(({ name }) => name !== known)
  const alone = address === null ? others[0] : others.find(({ id }) => id === null)
  if (alone !== undefined) {
    const reason = alone.id === null ? 'which is alone until it has a node, too' : 'so this one needs a node, too'
    throw new HoldfastError('CONFIG_INVALID', `database: it is the catalogue of another data directory, ${reason}`)
  }
  if (address !== null && others.some(({ id }) => id === address.id)) {
    throw new HoldfastError('CONFIG_INVALID', `node.id: another data directory is the node ${address.id} already`)
  }
  const name = known ?? make()
  const number = all.find(node => node.name === name)?.number ?? Math.max(-1, ...all.map(node => node.number)) + 1
  await sql.run(
    `INSERT INTO nodes (name, number, id, url, run) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (name) DO UPDATE SET id = excluded.id, url = excluded.url, run = excluded.run`,
    [name, number, address?.id ?? null, address?.url ?? null, run],
  )
  const kept = await sql.first<{ secret: Uint8Array }>('SELECT secret FROM fleet_secret LIMIT 1')
  const secret = kept?.secret ?? newSecret()
  if (kept === undefined) await sql.run('INSERT INTO fleet_secret (secret) VALUES ($1)', [secret])
  return { name, number, secret }
}
