import type { ClusterDefinition } from '../domain/cluster.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { Database } from '../storage/database.ts'
import { type BackendRow, backends, hasRoots } from './backend-table.ts'

/**
 * Returns the unused backends with content whose cluster is declared absent.
 *
 * @param used backends whose directories are configured
 * @throws HoldfastError `CONFIG_INVALID` if an unused backend has content and its cluster is not declared absent
 */
export function absentBackends(
  database: Database,
  used: ReadonlySet<number>,
  clusters: readonly ClusterDefinition[],
): ReadonlySet<number> {
  const declared = new Set(clusters.flatMap(({ id, absent }) => (absent === true ? id : [])))
  const unused = backends(database).filter(({ id }) => !used.has(id) && hasRoots(database, id))
  for (const backend of unused) {
    const owners = backend.clusterIds.split(' ').filter(id => id !== '')
    // For a directory of an early version, the ledger does not know the clusters. Any absent cluster may own the
    // directory.
    const isAbsent = owners.length === 0 ? declared.size > 0 : owners.some(id => declared.has(id))
    if (!isAbsent) throw unusedDirectory(backend, owners, clusters)
  }
  return new Set(unused.map(({ id }) => id))
}

function unusedDirectory(
  { dataDir }: BackendRow,
  owners: readonly string[],
  clusters: readonly ClusterDefinition[],
): HoldfastError {
  const known = owners.filter(id => clusters.some(cluster => cluster.id === id))
  const owner = owners.length === 0 ? 'a cluster' : `the cluster ${owners.join(' and ')}`
  const isMissing = owners.length > 0 && known.length === 0
  const remedies = [
    'give the cluster this directory as dataDir or in alsoIn, wherever it is now',
    `${isMissing ? 'add the cluster with' : 'set'} absent: true ${isMissing ? '' : 'on the cluster '}to start without it`,
  ]
  return new HoldfastError(
    'CONFIG_INVALID',
    `clusters: content of ${owner} is in ${dataDir}, which no configured cluster uses: ${remedies.join(', or ')}. A command needs the --config of the server`,
  )
}
