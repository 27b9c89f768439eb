import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Datastore } from 'interface-datastore'
import type { CID } from 'multiformats/cid'
import { SecretsFile } from '../access/sessions/secrets-file.ts'
import type { ProviderSignIn } from '../access/sign-in/identity-provider.ts'
import type { SharedCatalogue } from '../catalogue/shared-catalogue.ts'
import { PlacedBlocks } from '../catalogue/sqlite/placed-blocks.ts'
import { openRemotes, type RemoteCluster } from '../clusters/remote-clusters.ts'
import { BlockFiles } from '../content/block-files.ts'
import { BlockThreads, chunkPool } from '../content/block-threads.ts'
import { CachedBlockFiles } from '../content/cached-block-files.ts'
import { giveUpBallast } from '../content/disk-reserve.ts'
import { checkBlocksThere } from '../content/expected-blocks.ts'
import { openImportRoots } from '../content/import-roots.ts'
import { directoryMemory } from '../content/unixfs/held-memory.ts'
import { directoryUnusable, ownDataDirectory, refuseContentWithoutDatabase } from '../disk/data-directory.ts'
import { DATABASE, SECRETS } from '../disk/file-names.ts'
import { nodeFileSystem } from '../disk/node-file-system.ts'
import { keepToOwner } from '../disk/permissions.ts'
import type { ClusterDefinition } from '../domain/cluster.ts'
import { isDiskFull } from '../domain/disk-trouble.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { Sealing } from '../domain/sealing.ts'
import { BlockTable } from '../ledger/block-table.ts'
import { DEFAULT_BACKEND_ID } from '../ledger/blocks.ts'
import { type ClusterDirectory, clusterDirectories } from '../ledger/cluster-directories.ts'
import { sealedDatastore } from '../network/sealed-datastore.ts'
import { type FleetSystem, loadFleet } from '../nodes/fleet-system.ts'
import { Checkpoints } from '../storage/checkpoints.ts'
import { openDataKey } from '../storage/data-key.ts'
import { Database } from '../storage/database.ts'
import { LogSync } from '../storage/log-sync.ts'
import { loaders } from './loaders.ts'
import { memoryShares } from './memory-shares.ts'
import { openSignIn } from './open-sign-in.ts'
import type { Setup } from './setup.ts'
import { checkCatalogue } from './used-catalogue.ts'

export interface Stores {
  database: Database
  checkpoints: Checkpoints
  logSync: LogSync
  /** Datastore in the engine's own data directory, with encrypted private keys. */
  datastore: Datastore
  threads: BlockThreads
  blockFiles: ReadonlyMap<number, BlockFiles>
  /** Backend ids by cluster id, for the clusters that have a data directory of their own. */
  ownBackends: ReadonlyMap<string, number>
  /** Backends whose directories the configuration declares absent. */
  absent: ReadonlySet<number>
  remotes: ReadonlyMap<string, RemoteCluster>
  importRoots: string[]
  secrets: SecretsFile
  sealing: Sealing
  /** Null if the node has no sign-in provider. */
  providerSignIn: ProviderSignIn | null
  /** Null if the catalogue is in SQLite. */
  shared: SharedCatalogue | null
  /** Null for a single node. */
  fleetSystem: FleetSystem | null
  close(): Promise<void>
}

/**
 * Opens all files and databases. On failure, everything is closed again.
 * @throws HoldfastError `DATA_DIR_IN_USE`, `DATA_DIR_UNUSABLE`, `DATA_DIR_NEWER`, `CONFIG_INVALID`
 */
export async function openStores(setup: Setup): Promise<Stores> {
  try {
    return await openAll(setup)
  } catch (error) {
    // Opening the databases needs free space, and so does deleting content.
    if (!isDiskFull(error) || !(await giveUpBallast(nodeFileSystem, setup.dataDir))) throw error
    setup.logger.warn({}, 'the disk is full: deleted the ballast file')
    return openAll(setup)
  }
}

async function openAll(setup: Setup): Promise<Stores> {
  const { dataDir, ownClusters: clusters, config, fileSystem, logger, memoryBytes } = setup
  const closers: Array<() => Promise<void> | void> = []
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).reverse()) await closer()
  }
  try {
    const owned = await ownDataDirectory(dataDir, logger)
    closers.push(() => owned.close())
    const { clusters: remotes, close: closeRemotes } = await openRemotes(clusters, setup)
    closers.push(closeRemotes)
    const importRoots = await openImportRoots(dataDir, clusters, config.importRoots)
    const shares = memoryShares(memoryBytes)
    refuseContentWithoutDatabase(dataDir)
    const database = new Database(join(dataDir, DATABASE), { cacheBytes: shares.pages })
    chunkPool.limitTo(shares.chunks)
    directoryMemory.limitTo(shares.names)
    closers.push(() => database.close())
    checkCatalogue(database, setup.catalogueDatabase)
    const shared = await openShared(setup, database)
    if (shared !== null) closers.push(() => shared.close())
    const fleetSystem = shared?.fleet ? await loadFleet(shared.fleet) : null
    const checkpoints = new Checkpoints(join(dataDir, DATABASE))
    closers.push(() => checkpoints.stop())
    const logSync = new LogSync(join(dataDir, DATABASE))
    closers.push(() => logSync.close())
    const sealing = openDataKey(database, dataDir)
    const datastore = await sealedDatastore(owned.datastore, sealing)
    const threads = new BlockThreads(shares.blockThreads)
    closers.push(() => threads.stop())
    const providerSignIn = await openSignIn(setup)
    const secrets = await SecretsFile.open(join(dataDir, SECRETS))
    // Threads can write only through `node:fs`. A replaced file system therefore excludes threads.
    const filesIn = (path: string) => new BlockFiles(path, fileSystem === undefined ? threads : null, fileSystem)
    const blocks = new BlockTable(database)
    const open = (files: BlockFiles, id: number): Promise<BlockFiles> =>
      checkBlocksThere(files, id, blocks).then(() => opened(files))
    const blockFiles = new Map([[DEFAULT_BACKEND_ID, await open(filesIn(dataDir), DEFAULT_BACKEND_ID)]])
    const ownBackends = new Map<string, number>()
    const named = withCaches(dataDir, clusters, remotes)
    const { directories, absent } = await clusterDirectories(database, dataDir, named, setup.clusters)
    for (const directory of directories) {
      const { path, backendId, clusterIds } = directory
      for (const id of clusterIds) ownBackends.set(id, backendId)
      const clusterOwned = await ownDataDirectory(path, logger)
      closers.push(() => clusterOwned.close())
      const remote = remoteOf(directory, remotes)
      const files = remote === undefined ? filesIn(path) : cacheOf(remote, directory, database, setup)
      blockFiles.set(backendId, await open(files, backendId))
      keepToOwner(path, logger)
    }
    keepToOwner(dataDir, logger)
    return {
      database,
      checkpoints,
      logSync,
      datastore,
      threads,
      blockFiles,
      ownBackends,
      absent,
      remotes,
      importRoots,
      secrets,
      sealing,
      providerSignIn,
      shared,
      fleetSystem,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

async function openShared(setup: Setup, database: Database): Promise<SharedCatalogue | null> {
  if (setup.catalogueDatabase === null) return null
  const opening = await loaders.sharedCatalogue()
  return opening.openSharedCatalogue(setup, database, setup.catalogueDatabase)
}

/**
 * Gives each external cluster a directory for unsent and cached blocks. Clusters that share a backend share its
 * directory.
 */
export function withCaches(
  dataDir: string,
  clusters: readonly ClusterDefinition[],
  remotes: Stores['remotes'],
): ClusterDefinition[] {
  const directories = new Map<RemoteCluster, string>()
  for (const [id, remote] of remotes) {
    const path = join(dataDir, 'clusters', id)
    if (!directories.has(remote) || existsSync(path)) directories.set(remote, path)
  }
  return clusters.map(cluster => {
    const remote = remotes.get(cluster.id)
    const path = remote && directories.get(remote)
    return path === undefined ? cluster : { dataDir: path, ...cluster }
  })
}

/** Returns undefined if the directory is not the cache of an external cluster. */
export function remoteOf(
  { clusterIds }: Pick<ClusterDirectory, 'clusterIds'>,
  remotes: Stores['remotes'],
): RemoteCluster | undefined {
  const [remote, ...others] = new Set(clusterIds.map(id => remotes.get(id)))
  if (others.length > 0) {
    throw new HoldfastError('CONFIG_INVALID', `clusters: ${clusterIds.join(' and ')} have the same dataDir`)
  }
  return remote
}

function cacheOf(
  { reader, cacheBytes, graceMs }: RemoteCluster,
  { path, backendId }: ClusterDirectory,
  database: Database,
  { fileSystem, clock }: Setup,
): BlockFiles {
  const blocks = new PlacedBlocks(database)
  const external = {
    fetch: async (cid: CID) => {
      if (reader === null) throw new HoldfastError('NOT_FOUND', `block ${cid} is not on this node`)
      return reader.read(cid)
    },
    mayEvict: (multihash: Uint8Array) =>
      reader !== null && !blocks.isNeededHere(backendId, multihash, clock.now() - graceMs),
    sizeOf: (multihash: Uint8Array) => blocks.sizeOf(backendId, multihash),
    cacheBytes,
  }
  return new CachedBlockFiles(path, external, fileSystem)
}

async function opened(files: BlockFiles): Promise<BlockFiles> {
  try {
    await files.open()
  } catch (cause) {
    throw directoryUnusable(files.dataDir, cause)
  }
  return files
}
