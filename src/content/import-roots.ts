import { mkdir, realpath } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { directoryUnusable } from '../disk/data-directory.ts'
import { QUARANTINE } from '../disk/file-names.ts'
import { OWNERS_DIRECTORY } from '../disk/node-file-system.ts'
import type { ClusterDefinition } from '../domain/cluster.ts'
import { HoldfastError } from '../domain/errors.ts'
import { isInside } from './server-directory.ts'

/** Subdirectories of a data directory that uploads by server path must not read. */
const PRIVATE = ['blocks', 'tmp', 'datastore', QUARANTINE]

/**
 * Returns the absolute paths of the directories from which uploads by server path may read. If none is configured,
 * creates `import` in the data directory.
 *
 * @throws HoldfastError `CONFIG_INVALID` if a configured directory contains a store or is inside a store;
 * `DATA_DIR_UNUSABLE` if `import` cannot be created
 */
export async function openImportRoots(
  dataDir: string,
  clusters: readonly ClusterDefinition[],
  configured: readonly string[] | undefined,
): Promise<string[]> {
  if (configured !== undefined) return checkImportRoots(dataDir, clusters, configured)
  const root = join(dataDir, 'import')
  await mkdir(root, { recursive: true, mode: OWNERS_DIRECTORY }).catch(cause => {
    throw directoryUnusable(root, cause)
  })
  return [root]
}

/** Returns the absolute paths of configured roots. @throws HoldfastError `CONFIG_INVALID` as {@link openImportRoots} */
export async function checkImportRoots(
  dataDir: string,
  clusters: readonly ClusterDefinition[],
  configured: readonly string[],
): Promise<string[]> {
  const clusterDirs = clusters.flatMap(({ dataDir: own, alsoIn = [] }) => [
    ...(own === undefined ? [] : [own]),
    ...alsoIn,
  ])
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

/** Returns the absolute path if the path does not exist. */
function realPathOf(path: string): Promise<string> {
  return realpath(path).catch(() => resolve(path))
}
