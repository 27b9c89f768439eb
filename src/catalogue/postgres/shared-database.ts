import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { CredentialChanges } from './credential-changes.ts'
import { migrate } from './migrate.ts'
import { takeUp } from './move-in.ts'
import { Postgres, type PostgresOptions } from './postgres.ts'
import { migrations } from './schema.ts'
import { agreeOnKey } from './sealing-key.ts'

/** The database of a catalogue that is kept elsewhere, and as what it knows this node. */
export interface SharedDatabase {
  database: Postgres
  /** Names the data directory. */
  node: string
  changes: CredentialChanges
  close(): Promise<void>
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
  /** Opens what this node seals with, which has to be the key of that name, and returns its name; see {@link agreeOnKey}. */
  openKey: (expected: string | null) => string
}

/**
 * Opens the database, brings its schema up, and joins it as the one node there is.
 *
 * @throws HoldfastError `CONFIG_INVALID` if it is not PostgreSQL 15 or newer, another directory's, or `pg` is missing;
 * `UNAVAILABLE`, `DATA_DIR_NEWER`
 */
export async function openShared(options: SharedOptions, name: NodeName): Promise<SharedDatabase> {
  const database = await openMigrated(options)
  try {
    await agreeOnKey(database, options.openKey)
    const node = await join(database, name)
    const changes = new CredentialChanges(database, options.clock)
    await changes.start()
    const close = async (): Promise<void> => {
      await changes.stop()
      await database.close()
    }
    return { database, node, changes, close }
  } catch (error) {
    await database.close()
    throw error
  }
}

/**
 * Opens a database and brings its schema up. The caller closes it.
 *
 * @throws HoldfastError as {@link openShared}
 */
export async function openMigrated(options: PostgresOptions): Promise<Postgres> {
  const database = await Postgres.open(options)
  try {
    await checkVersion(database)
    await migrate(database, migrations)
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

async function join(database: Postgres, { known, make }: NodeName): Promise<string> {
  if (known !== null) await takeUp(database, known)
  return database.transaction(async sql => {
    await sql.run('LOCK TABLE nodes IN EXCLUSIVE MODE')
    if ((await sql.first('SELECT 1 FROM moves LIMIT 1')) !== undefined) {
      throw new HoldfastError(
        'CONFIG_INVALID',
        'database: the catalogue of another data directory is being moved to it',
      )
    }
    const [there] = await sql.all<{ name: string }>('SELECT name FROM nodes LIMIT 1')
    if (there !== undefined && there.name !== known) {
      throw new HoldfastError('CONFIG_INVALID', 'database: it is the catalogue of another data directory')
    }
    const name = known ?? make()
    await sql.run('INSERT INTO nodes (name) VALUES ($1) ON CONFLICT DO NOTHING', [name])
    return name
  })
}
