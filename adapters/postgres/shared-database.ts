import { randomUUID } from 'node:crypto'
import type { PoolClient } from 'pg'
import type { NodeName, SharedCatalogue, SharedOptions } from '../../src/catalogue/shared-catalogue.ts'
import { HoldfastError } from '../../src/domain/errors.ts'
import { accountVersions } from './access/account-versions.ts'
import { postgresAccess } from './access/postgres-access.ts'
import { postgresSignIn } from './access/postgres-sign-in.ts'
import { agreeOnKey } from './access/sealing-key.ts'
import { prepareCopies } from './copies/copy-sets.ts'
import { Postgres, type PostgresOptions } from './database/postgres.ts'
import { enableVisibility } from './fleet/enable-visibility.ts'
import { joinFleet } from './fleet/join-fleet.ts'
import { Nodes } from './fleet/postgres-nodes.ts'
import { PostgresRevisions } from './fleet/postgres-revisions.ts'
import { voidLeft } from './holds/shared-holds.ts'
import { PostgresPlaces } from './holds/shared-places.ts'
import { plainNodes } from './lists/private-records.ts'
import { takeUp } from './move-in.ts'
import { NodeClaim } from './nodes/node-claim.ts'
import { FRAMES_RUN } from './nodes/node-states.ts'
import { CredentialChanges } from './outages/credential-changes.ts'
import { DatabaseOutage } from './outages/database-outage.ts'
import { DatabasePast } from './outages/database-past.ts'
import { PostgresCensus } from './postgres-census.ts'
import { postgresContent } from './postgres-content.ts'
import { PostgresTakedowns } from './postgres-takedowns.ts'
import { migrate } from './schema/migrate.ts'
import { migrations } from './schema/schema.ts'

/**
 * @throws HoldfastError `CONFIG_INVALID` if `pg` is missing, the server is not PostgreSQL 15 or newer, or the catalogue
 * belongs to another data directory; `DATA_DIR_IN_USE` if another process runs with this data directory or a copy;
 * `UNAVAILABLE` if the database cannot be reached; `DATA_DIR_NEWER` if a newer version of Holdfast wrote the catalogue
 */
export async function openShared(options: SharedOptions, name: NodeName): Promise<SharedCatalogue> {
  const outage = new DatabaseOutage(options.clock, options.outages)
  const database = await openMigrated({ url: options.url, onOutage: error => outage.failed(error) })
  let connection: PoolClient | null = null
  try {
    const { clock, openKey, tables } = options
    await agreeOnKey(database, openKey)
    connection = await database.connection()
    const former = name.known === null ? null : new NodeClaim(name.known)
    await former?.take(connection)
    if (name.known !== null) await takeUp(database, name.known)
    if (Object.keys(options.copySets).length > 0) await prepareCopies(options.url)
    const run = `${FRAMES_RUN}${randomUUID()}`
    const joined = await database.transaction(sql => joinFleet(sql, name, { ...options, run }))
    options.past.joined(run)
    const { secret, returned, isSetBack, ...node } = joined
    const claim = new NodeClaim(node.name, options.onRefusal)
    await claim.take(connection)
    if (node.name !== name.known) await former?.release(connection)
    await voidLeft(database, node.name)
    const past = new DatabasePast(options.past, node.name, options.onProblem, isSetBack)
    if (returned !== null) await past.returned(connection, returned)
    const changes = new CredentialChanges(database, clock, past, claim, outage)
    const first = connection
    connection = null
    await changes.start(first)
    const fleet =
      options.address === null
        ? null
        : {
            nodes: new Nodes(database, clock, node.name, tables, isFollowing => options.past.follow(isFollowing)),
            secret,
            run,
            load: loadFleet,
          }
    const plain = fleet === null ? [] : await plainNodes(database)
    if (plain.length > 0) options.onPlainTraffic?.(plain)
    const close = async (): Promise<void> => {
      await changes.stop()
      await database.close()
    }
    return { ...storesIn(database, { ...node, run }, options), node, changes, past, fleet, close }
  } catch (error) {
    connection?.release(true)
    await database.close()
    throw error
  }
}

async function loadFleet(): Promise<object> {
  return (await import('../fleet/fleet-member.ts')).fleetSystem
}

type Stores = Omit<SharedCatalogue, 'node' | 'changes' | 'past' | 'fleet' | 'close'>

function storesIn(
  database: Postgres,
  node: SharedCatalogue['node'] & { run: string },
  { clock, tables }: Pick<SharedOptions, 'clock' | 'tables'>,
): Stores {
  return {
    access: postgresAccess(database, node.name),
    takedowns: new PostgresTakedowns(database),
    revisions: new PostgresRevisions(database, node.name),
    places: new PostgresPlaces(database),
    content: (ledger, external) => postgresContent(database, ledger, { ...node, clock, tables }, external),
    census: ledger => new PostgresCensus(database, ledger),
    signIn: sealing => postgresSignIn(database, sealing),
    versions: accountVersions(database),
    enableVisibility: () => enableVisibility(database),
  }
}

/**
 * Opens a database and migrates its schema. The caller closes the database.
 *
 * @throws HoldfastError `CONFIG_INVALID` if `pg` is missing, or the server is not PostgreSQL 15 or newer; `UNAVAILABLE`
 * if the database cannot be reached; `DATA_DIR_NEWER` if a newer version of Holdfast wrote the database; `CONFLICT` or
 * `CONFIG_INVALID` if the database needs a migration and `mayMigrate` is false
 */
export async function openMigrated(options: PostgresOptions, mayMigrate = true): Promise<Postgres> {
  const migrating = await Postgres.open({ ...options, connections: 1, answerMs: null })
  try {
    await checkVersion(migrating)
    await migrate(migrating, migrations, mayMigrate)
  } finally {
    await migrating.close()
  }
  return Postgres.open(options)
}

export async function checkVersion(database: Postgres): Promise<void> {
  const text = `SELECT current_setting('server_version_num')::integer AS version`
  const found = await database.reading.first<{ version: number }>(text)
  if ((found?.version ?? 0) >= 150_000) return
  throw new HoldfastError('CONFIG_INVALID', 'database: PostgreSQL must be version 15 or newer')
}
