import { statSync } from 'node:fs'
import { join } from 'node:path'
import { SecretsFile } from '../access/sessions/secrets-file.ts'
import type { EngineOptions } from '../api.ts'
import { openRemotes } from '../clusters/remote-clusters.ts'
import { BlockFiles } from '../content/block-files.ts'
import { checkBlocksThere } from '../content/expected-blocks.ts'
import { checkImportRoots } from '../content/import-roots.ts'
import { directoryUnusable, refuseContentWithoutDatabase, refuseUnfinishedRestore } from '../disk/data-directory.ts'
import { DATABASE, SECRETS, TAKEDOWNS } from '../disk/file-names.ts'
import { checkWritable } from '../disk/writable.ts'
import { type HoldfastError, isHoldfastError } from '../domain/errors.ts'
import { readTakedowns } from '../gateway/policy/takedown-file.ts'
import { durableBlocks } from '../ledger/block-table.ts'
import { DEFAULT_BACKEND_ID } from '../ledger/blocks.ts'
import { checkClusterDirectories } from '../ledger/cluster-directories.ts'
import { networkSettings } from '../network/network-settings.ts'
import { checkDataKey } from '../storage/data-key.ts'
import { Database } from '../storage/database.ts'
import { migrations } from '../storage/migrations.ts'
import { checkSharedCatalogue } from './open-shared-catalogue.ts'
import { openSignIn } from './open-sign-in.ts'
import { type Setup, setupOf } from './setup.ts'
import { remoteOf, withCaches } from './stores.ts'
import { checkCatalogue } from './used-catalogue.ts'

/** Stores that an engine opens for writing, if they exist. */
const STORES = ['datastore', 'blocks', 'tmp']

export async function foundRefusals(options: EngineOptions): Promise<HoldfastError[]> {
  const refusals: HoldfastError[] = []
  const check: Check = async work => {
    try {
      return await work()
    } catch (error) {
      if (!isHoldfastError(error)) throw error
      refusals.push(error)
      return undefined
    }
  }
  const setup = await check(() => setupOf(options))
  if (setup !== undefined) await checkSetup(setup, check)
  return refusals
}

type Check = <T>(work: () => T | Promise<T>) => Promise<T | undefined>

async function checkSetup(setup: Setup, check: Check): Promise<void> {
  const { dataDir, clusters, config } = setup
  const { importRoots } = config
  // The other checks would call the files of another user damaged.
  if ((await check(() => checkUsable(dataDir))) === undefined) return
  await check(() => refuseUnfinishedRestore(dataDir))
  await check(() => refuseContentWithoutDatabase(dataDir))
  if (importRoots !== undefined) await check(() => checkImportRoots(dataDir, clusters, importRoots))
  await check(() => SecretsFile.read(join(dataDir, SECRETS)))
  await check(() => readTakedowns(join(dataDir, TAKEDOWNS)))
  await check(() => openSignIn(setup))
  const { network } = config
  if (network?.enabled === true) await check(() => networkSettings(network))
  const database = await check(() => databaseOf(dataDir))
  if (database === undefined) return
  try {
    await checkStores(setup, database, withEarlierTables(database, check))
  } finally {
    database.close()
  }
}

/**
 * Passes over checks that need tables which the database of an early version lacks, until the first start migrates it.
 */
function withEarlierTables(database: Database, check: Check): Check {
  const version = database.prepare<[], { user_version: number }>('PRAGMA user_version').get()?.user_version
  if (version === migrations.length) return check
  return <T>(work: () => T | Promise<T>) =>
    check(async (): Promise<T | undefined> => {
      try {
        return await work()
      } catch (error) {
        if ((error as { code?: unknown }).code !== 'SQLITE_ERROR') throw error
        return undefined
      }
    })
}

async function checkStores(setup: Setup, database: Database, check: Check): Promise<void> {
  const { dataDir, ownClusters, clusters, catalogueDatabase } = setup
  const blocks = durableBlocks(database)
  await check(() => checkDataKey(database, dataDir))
  await check(async () => {
    checkCatalogue(database, catalogueDatabase)
    await checkSharedCatalogue(setup, database)
  })
  await check(() => checkBlocksThere(new BlockFiles(dataDir), DEFAULT_BACKEND_ID, blocks))
  const remotes = await check(() => openRemotes(ownClusters, setup))
  if (remotes === undefined) return
  try {
    const named = withCaches(dataDir, ownClusters, remotes.clusters)
    const directories = await check(() => checkClusterDirectories(database, dataDir, named, clusters))
    for (const { path, backendId, clusterIds } of directories ?? []) {
      if ((await check(() => checkUsable(path))) === undefined) continue
      const remote = await check(() => remoteOf({ clusterIds }, remotes.clusters))
      if (remote === undefined && backendId !== null) {
        await check(() => checkBlocksThere(new BlockFiles(path), backendId, blocks))
      }
    }
  } finally {
    await remotes.close()
  }
}

/** Returns an empty database in memory for a directory without a database. */
function databaseOf(dataDir: string): Database {
  const file = join(dataDir, DATABASE)
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0
  return size === 0 ? new Database(':memory:') : new Database(file, { isUntouched: true })
}

/** @throws HoldfastError `DATA_DIR_UNUSABLE` if the user may not write the directory and its stores, or create them */
function checkUsable(dataDir: string): true {
  for (const path of [dataDir, ...STORES.map(name => join(dataDir, name))]) {
    try {
      checkWritable(path)
    } catch (cause) {
      throw directoryUnusable(dataDir, cause)
    }
  }
  return true
}
