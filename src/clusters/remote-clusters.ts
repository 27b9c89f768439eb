import { CheckedSource } from '../content/block-source.ts'
import type { BackendDefinition, ClusterDefinition } from '../domain/cluster.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { AdapterMeans, BackendAdapter, OpenedPlace } from './backend-adapter.ts'
import type { ClusterBackend } from './cluster-backend.ts'

/** External system that keeps one or more clusters. */
export interface RemoteCluster extends Omit<OpenedPlace, 'close'> {
  /** Name that the adapter gives to the system. */
  place: string
  /** Limits the cache for the system's content on this node's disk. */
  cacheBytes: number
  /**
   * Minimum time for which this node keeps its copy after the system has the content. The node keeps an unconfirmed
   * copy longer.
   */
  graceMs: number
}

/** Clusters on the same system share one object. The caller must call `close`. */
export interface RemoteClusters {
  clusters: ReadonlyMap<string, RemoteCluster>
  close(): Promise<void>
}

/** Backends from the host program, by cluster id. */
export type GivenBackends = Readonly<Record<string, ClusterBackend>>

const CACHE_BYTES = 1024 ** 3
const GRACE_SECONDS = 86_400

interface RemoteMeans extends AdapterMeans {
  adapters: readonly BackendAdapter[]
  backends: GivenBackends
}

/**
 * Connects to external systems. The configuration must have been checked with the same adapters.
 * @throws HoldfastError `CONFIG_INVALID` for a secret that cannot be read
 */
export async function openRemotes(
  definitions: readonly ClusterDefinition[],
  { adapters, backends, ...means }: RemoteMeans,
): Promise<RemoteClusters> {
  const clusters = givenClusters(definitions, backends)
  const places = new Map<string, OpenedCluster>()
  const close = async (): Promise<void> => {
    await Promise.all([...places.values()].map(({ opened }) => opened.close()))
  }
  try {
    for (const { id, backend, absent } of definitions) {
      if (backend === undefined || absent === true) continue
      const adapter = adapters.find(({ type }) => type === backend.type)
      if (adapter === undefined) throw new HoldfastError('CONFIG_INVALID', `adapters: ${backend.type} is missing`)
      const place = adapter.placeOf(backend)
      const known = places.get(place) ?? openedCluster(place, backend, await adapter.open(id, backend, means))
      places.set(place, known)
      clusters.set(id, known.cluster)
    }
    return { clusters, close }
  } catch (error) {
    await close()
    throw error
  }
}

interface OpenedCluster {
  opened: OpenedPlace
  cluster: RemoteCluster
}

function openedCluster(place: string, backend: BackendDefinition, opened: OpenedPlace): OpenedCluster {
  const { cacheBytes = CACHE_BYTES, localGraceSeconds = GRACE_SECONDS } = backend
  // Call `connect` as a method, because an adapter may return an instance of a class.
  const connect: OpenedPlace['connect'] = (mark, addresses) => opened.connect(mark, addresses)
  return { opened, cluster: { connect, reader: opened.reader, place, cacheBytes, graceMs: localGraceSeconds * 1_000 } }
}

function givenClusters(definitions: readonly ClusterDefinition[], backends: GivenBackends): Map<string, RemoteCluster> {
  const fail = (id: string, problem: string): never => {
    throw new HoldfastError('CONFIG_INVALID', `backends: ${id} ${problem}`)
  }
  const clusters = new Map<string, RemoteCluster>()
  const made = new Map<ClusterBackend, RemoteCluster>()
  for (const [id, backend] of Object.entries(backends)) {
    const definition = definitions.find(cluster => cluster.id === id) ?? fail(id, 'is not a configured cluster')
    if (definition.backend !== undefined) fail(id, 'names a cluster with a configured backend')
    if (definition.dataDir !== undefined) fail(id, 'names a cluster with a configured dataDir')
    if (definition.absent === true) continue
    const isOne = (['pin', 'unpin', 'status'] as const).every(name => typeof backend?.[name] === 'function')
    if (!isOne) fail(id, 'must be a ClusterBackend with pin, unpin and status')
    const reader = backend.reader ? new CheckedSource(backend.reader) : null
    const options = { place: 'given by the program', cacheBytes: CACHE_BYTES, graceMs: GRACE_SECONDS * 1_000 }
    const cluster = made.get(backend) ?? { connect: () => backend, reader, ...options }
    made.set(backend, cluster)
    clusters.set(id, cluster)
  }
  return clusters
}
