import { randomUUID } from 'node:crypto'
import { join, resolve } from 'node:path'
import { MemoryAttempts } from '../access/limits/memory-attempts.ts'
import { SecretsFile } from '../access/sessions/secrets-file.ts'
import { SecondFactor } from '../access/sign-in/second-factor-check.ts'
import { type CatalogueAdapter, neededAdapter } from '../catalogue/catalogue-adapter.ts'
import { loadSystem, type MoveTarget } from '../catalogue/catalogue-system.ts'
import type { CopiedCatalogue, MoveProgress } from '../catalogue/moving.ts'
import { SqliteMovedCatalogue } from '../catalogue/sqlite/moved-catalogue.ts'
import { sqliteAccess } from '../catalogue/sqlite/sqlite-access.ts'
import { MOVE_CATALOGUE } from '../config/option-names.ts'
import { ownDataDirectory } from '../disk/data-directory.ts'
import { DATABASE, SECRETS } from '../disk/file-names.ts'
import { systemClock } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import { checkFields } from '../domain/known-fields.ts'
import { silentLogger } from '../domain/logger.ts'
import type { Sealing } from '../domain/sealing.ts'
import { allTables } from '../features/feature-list.ts'
import { catalogueNode } from '../ledger/catalogue-node.ts'
import { openDataKey, openFleetKey } from '../storage/data-key.ts'
import { Database } from '../storage/database.ts'
import { WriteQueue } from '../storage/write-queue.ts'

/** Source and target of a catalogue move. */
export interface MoveCatalogueOptions {
  /** No engine may have the directory open. */
  dataDir: string
  /** URL of an empty database: `postgres://user:password@host:port/database`. */
  to: string
  /** Adapter of the database: `postgres` from `holdfast/postgres`. */
  catalogue: CatalogueAdapter
  /** Called after each step of the move, and after every few hundred rows. */
  onProgress?: (progress: MoveProgress) => void
}

/** Result of a catalogue move. */
export interface MovedCatalogue {
  /** Name of the data directory in the PostgreSQL catalogue. */
  node: string
  /** Null if an earlier, interrupted move had already copied the rows. */
  copied: CopiedCatalogue | null
  /** Rows removed from the data directory after the copy. */
  removed: number
}

/** Does the work of `moveCatalogue` of the public API. */
export async function movedCatalogue(options: MoveCatalogueOptions): Promise<MovedCatalogue> {
  checkFields(options, MOVE_CATALOGUE, 'moveCatalogue')
  const { dataDir, to, onProgress = () => undefined } = options
  const adapter = neededAdapter(options.catalogue)
  const directory = resolve(dataDir)
  const owned = await ownDataDirectory(directory, silentLogger)
  try {
    const database = new Database(join(directory, DATABASE))
    try {
      const system = await loadSystem(adapter)
      const target = await system.connectToMove(to)
      try {
        return await move({ database, target, directory, onProgress })
      } finally {
        await target.close()
      }
    } finally {
      database.close()
    }
  } finally {
    await owned.close()
  }
}

interface Move {
  database: Database
  target: MoveTarget
  directory: string
  onProgress: (progress: MoveProgress) => void
}

async function move(parts: Move): Promise<MovedCatalogue> {
  const { database, target, onProgress } = parts
  const known = catalogueNode(database)
  const copied = known === null ? await copy(parts) : null
  const node = catalogueNode(database) ?? ''
  if (copied === null && !(await target.isKnownTo(node))) {
    throw new HoldfastError('CONFIG_INVALID', 'database: another database has the catalogue of this data directory')
  }
  await target.takeUp(node)
  onProgress({ step: 'joined', rows: 0, of: 0 })
  return { node, copied, removed: remove(database, onProgress) }
}

async function copy({ database, target, directory, onProgress }: Move): Promise<CopiedCatalogue> {
  const source = new SqliteMovedCatalogue(database, allTables)
  const sealing = openDataKey(database, directory)
  await sealAll(database, sealing)
  const node = nameOf(database)
  const version = database.dataVersion()
  const copied = await target.moveIn(source, { node, onProgress })
  await target.agreeOnKey(expected => openFleetKey(database, directory, expected))
  const secrets = await SecretsFile.open(join(directory, SECRETS))
  await target.signIn(sealing).signingKeys.replace(null, await secrets.load())
  database.transaction(() => {
    if (database.dataVersion() !== version) {
      throw new HoldfastError('CONFLICT', 'the accounts changed during the copy: run the move again')
    }
    database.prepare<[string]>('INSERT INTO catalogue_node (name) VALUES (?)').run(node)
    database.prepare('DELETE FROM catalogue_move').run()
  })
  onProgress({ step: 'switched', rows: 0, of: 0 })
  return copied
}

/** Returns the same name for a repeated move. */
function nameOf(database: Database): string {
  const text = 'SELECT name FROM catalogue_move'
  const name = database.prepare<[], { name: string }>(text).get()?.name ?? randomUUID()
  database.prepare<[string]>('INSERT OR IGNORE INTO catalogue_move (name) VALUES (?)').run(name)
  return name
}

/** Encrypts the secrets that the first versions stored in plain text, before the secrets leave the machine. */
async function sealAll(database: Database, sealing: Sealing): Promise<void> {
  const { secondFactors: store } = sqliteAccess(database, new WriteQueue(database))
  const attempts = new MemoryAttempts(systemClock)
  await new SecondFactor({ store, sealing, attempts, clock: systemClock }).sealStored()
}

function remove(database: Database, onProgress: (progress: MoveProgress) => void): number {
  const source = new SqliteMovedCatalogue(database, allTables)
  const of = source.left()
  database.setDurable(false)
  let rows = 0
  for (let some = -1; some !== 0; rows += some) {
    some = database.transaction(() => source.removeSome())
    onProgress({ step: 'removing', rows: rows + some, of })
  }
  database.setDurable(true)
  return rows
}
