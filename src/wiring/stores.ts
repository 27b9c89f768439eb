import { mkdir, realpath } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Datastore } from 'interface-datastore'
import type { CID } from 'multiformats/cid'
import { SecretsFile } from '../access/secrets-file.ts'
import { PlacedBlocks } from '../catalogue/sqlite/placed-blocks.ts'
import { type Environment, type GivenBackends, openRemotes, type RemoteCluster } from '../clusters/remote-clusters.ts'
import { BlockFiles } from '../content/block-files.ts'
import { BlockThreads } from '../content/block-threads.ts'
import { CachedBlockFiles } from '../content/cached-block-files.ts'
import { giveUpBallast } from '../content/disk-reserve.ts'
import { isInside } from '../content/server-directory.ts'
import { ownDataDirectory } from '../disk/data-directory.ts'
import { nodeFileSystem, OWNERS_DIRECTORY } from '../disk/file-system.ts'
import { keepToOwner } from '../disk/permissions.ts'
import type { Clock } from '../domain/clock.ts'
import type { ClusterDefinition } from '../domain/cluster.ts'
import { isDiskFull } from '../domain/disk-full.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { FileSystem } from '../domain/file-system.ts'
import type { Logger } from '../domain/logger.ts'
import type { Sealing } from '../domain/sealing.ts'
import { DEFAULT_BACKEND_ID } from '../ledger/blocks.ts'
import { clusterDirectories } from '../ledger/cluster-directories.ts'
import { sealedDatastore } from '../network/sealed-datastore.ts'
import { Checkpoints } from '../storage/checkpoints.ts'
import { openDataKey } from '../storage/data-key.ts'
import { Database } from '../storage/database.ts'

/** What an engine has open on disk. */
export interface Stores {
  database: Database
  checkpoints: Checkpoints
  /** Of the engine's own data directory; private keys in it are sealed. */
  datastore: Datastore
  threads: BlockThreads
  /** By backend id. */
  blockFiles: ReadonlyMap<number, BlockFiles>
  /** Backend ids of clusters that have a data directory of their own. */
  ownBackends: ReadonlyMap<string, number>
  /** Clusters that are kept elsewhere, by id. */
  remotes: ReadonlyMap<string, RemoteCluster>
  importRoots: string[]
  secrets: SecretsFile
  /** With the data directory's own key. */
  sealing: Sealing
  close(): Promise<void>
}

export interface StoresOptions {
  dataDir: string
  clusters: readonly ClusterDefinition[]
  importRoots: readonly string[] | undefined
  logger: Logger
  clock: Clock
  /** Where keys of other nodes may be named. */
  environment: Environment
  /** Of clusters that the host program keeps, by cluster id. */
  backends: GivenBackends
  fileSystem?: FileSystem | undefined
}

/**
 * Opens everything that an engine keeps on disk; on failure what was opened is closed again.
 *
 * @throws HoldfastError `DATA_DIR_IN_USE`, `DATA_DIR_UNUSABLE`, `DATA_DIR_NEWER`, `CONFIG_INVALID`
 */
export async function openStores(options: StoresOptions): Promise<Stores> {
  try {
    return await openAll(options)
  } catch (error) {
    // The databases need a little room to open at all, and to delete with afterwards.
    if (!isDiskFull(error) || !(await giveUpBallast(nodeFileSystem, resolve(options.dataDir)))) throw error
    options.logger.warn({}, 'the disk is full: the ballast is given up')
    return openAll(options)
  }
}

async function openAll(options: StoresOptions): Promise<Stores> {
  const dataDir = resolve(options.dataDir)
  const closers: Array<() => Promise<void> | void> = []
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).reverse()) await closer()
  }
  try {
    const owned = await ownDataDirectory(dataDir, options.logger)
    closers.push(() => owned.close())
    const { clusters: remotes, close: closeRemotes } = await openRemotes(options.clusters, options)
    closers.push(closeRemotes)
    const importRoots = await openImportRoots(dataDir, options.clusters, options.importRoots)
    const database = new Database(join(dataDir, 'holdfast.db'))
    closers.push(() => database.close())
    const checkpoints = new Checkpoints(join(dataDir, 'holdfast.db'))
    closers.push(() => checkpoints.stop())
    const sealing = openDataKey(database, dataDir)
    const datastore = await sealedDatastore(owned.datastore, sealing)
    const threads = new BlockThreads()
    closers.push(() => threads.stop())
    const openBlockFiles = (dir: string): Promise<BlockFiles> => blockFilesIn(dir, threads, options.fileSystem)
    const secrets = await SecretsFile.open(join(dataDir, 'secrets'))
    const blockFiles = new Map([[DEFAULT_BACKEND_ID, await openBlockFiles(dataDir)]])
    const ownBackends = new Map<string, number>()
    const directories = await clusterDirectories(database, dataDir, withCaches(dataDir, options.clusters, remotes))
    for (const { path, backendId, clusterIds } of directories) {
      for (const id of clusterIds) ownBackends.set(id, backendId)
      const clusterOwned = await ownDataDirectory(path, options.logger)
      closers.push(() => clusterOwned.close())
      const remote = clusterIds.map(id => remotes.get(id)).find(found => found !== undefined)
      if (remote !== undefined && clusterIds.length > 1) {
        throw new HoldfastError('CONFIG_INVALID', `clusters: ${clusterIds.join(' and ')} have the same dataDir`)
      }
      const cache = remote && cacheOf(remote, { path, backendId, database, fileSystem: options.fileSystem })
      blockFiles.set(backendId, await (cache === undefined ? openBlockFiles(path) : openFiles(cache, path)))
      keepToOwner(path, options.logger)
    }
    keepToOwner(dataDir, options.logger)
    const opened = { database, checkpoints, datastore, threads, blockFiles, ownBackends, remotes }
    return { ...opened, importRoots, secrets, sealing, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** What has still to get to a cluster elsewhere, and what was used of it, lies in a directory of its own. */
function withCaches(
  dataDir: string,
  clusters: readonly ClusterDefinition[],
  remotes: Stores['remotes'],
): ClusterDefinition[] {
  return clusters.map(cluster =>
    !remotes.has(cluster.id) ? cluster : { dataDir: join(dataDir, 'clusters', cluster.id), ...cluster },
  )
}

function cacheOf(
  { reader, cacheBytes }: RemoteCluster,
  at: { path: string; backendId: number; database: Database; fileSystem: FileSystem | undefined },
): BlockFiles {
  const blocks = new PlacedBlocks(at.database)
  const elsewhere = {
    fetch: async (cid: CID) => {
      if (reader === null) throw new HoldfastError('NOT_FOUND', `block ${cid} is not here`)
      return reader.read(cid)
    },
    mayForget: (multihash: Uint8Array) => reader !== null && !blocks.isNeededHere(at.backendId, multihash),
    sizeOf: (multihash: Uint8Array) => blocks.sizeOf(at.backendId, multihash),
    cacheBytes,
  }
  return new CachedBlockFiles(at.path, elsewhere, at.fileSystem)
}

/** Threads know `node:fs` alone: with another file system they do not write. */
async function blockFilesIn(dataDir: string, threads: BlockThreads, fileSystem?: FileSystem): Promise<BlockFiles> {
  return openFiles(new BlockFiles(dataDir, fileSystem === undefined ? threads : null, fileSystem), dataDir)
}

async function openFiles(files: BlockFiles, dataDir: string): Promise<BlockFiles> {
  try {
    await files.open()
  } catch (cause) {
    throw unusable(dataDir, cause)
  }
  return files
}

/** Directories inside a data directory whose content is nobody's to read by server path. */
const PRIVATE = ['blocks', 'tmp', 'datastore']

/** Uploads by server path read below these; one that contains a store, or lies in it, would let it be read. */
async function openImportRoots(
  dataDir: string,
  clusters: readonly ClusterDefinition[],
  configured: readonly string[] | undefined,
): Promise<string[]> {
  if (configured === undefined) {
    const root = join(dataDir, 'import')
    await mkdir(root, { recursive: true, mode: OWNERS_DIRECTORY }).catch(cause => {
      throw unusable(root, cause)
    })
    return [root]
  }
  const clusterDirs = clusters.flatMap(cluster => cluster.dataDir ?? [])
  const dataDirs = await Promise.all([dataDir, ...clusterDirs].map(realPathOf))
  const roots = configured.map(root => resolve(root))
  for (const root of roots) {
    const real = await realPathOf(root)
    const isWrong = dataDirs.some(dir => isInside(real, dir) || PRIVATE.some(name => isInside(join(dir, name), real)))
    if (isWrong)
      throw new HoldfastError('CONFIG_INVALID', `importRoots: ${root} contains the data directory or a store`)
  }
  return roots
}

/** The path itself while there is nothing. */
function realPathOf(path: string): Promise<string> {
  return realpath(path).catch(() => resolve(path))
}

function unusable(path: string, cause: unknown): HoldfastError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new HoldfastError('DATA_DIR_UNUSABLE', `data directory ${path} cannot be used: ${reason}`, { cause })
}
