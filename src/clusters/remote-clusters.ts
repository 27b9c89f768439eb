import { CheckedSource } from '../content/block-source.ts'
import type { BackendDefinition, ClusterDefinition } from '../domain/cluster.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { AdapterMeans, BackendAdapter, OpenedPlace } from './backend-adapter.ts'
import type { ClusterBackend } from './cluster-backend.ts'

/** A system that keeps clusters in place of this node. */
export interface RemoteCluster extends Omit<OpenedPlace, 'close'> {
  /** Names it, as its adapter does. */
  place: string
  /** Bytes of its content that stay on this disk. */
  cacheBytes: number
  /** For how long all of a content stays here once it is there, in milliseconds; longer until a check confirms it. */
  graceMs: number
}

/** The clusters that are kept elsewhere, by id; those that one backend keeps are one and the same. The caller closes them. */
export interface RemoteClusters {
  clusters: ReadonlyMap<string, RemoteCluster>
  close(): Promise<void>
}

/** By cluster id. */
export type GivenBackends = Readonly<Record<string, ClusterBackend>>

const CACHE_BYTES = 1024 ** 3
const GRACE_SECONDS = 86_400

interface RemoteMeans extends AdapterMeans {
  adapters: readonly BackendAdapter[]
  backends: GivenBackends
}

/**
 * Opens the clusters that other systems keep. The configuration has been checked against the same adapters.
 *
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
  // An adapter may open an object of a class: its methods are called on it.
  const connect: OpenedPlace['connect'] = (mark, addresses) => opened.connect(mark, addresses)
  return { opened, cluster: { connect, reader: opened.reader, place, cacheBytes, graceMs: localGraceSeconds * 1_000 } }
}

/** Those that the host program keeps. */
function givenClusters(definitions: readonly ClusterDefinition[], backends: GivenBackends): Map<string, RemoteCluster> {
  const fail = (id: string, problem: string): never => {
    throw new HoldfastError('CONFIG_INVALID', `backends: ${id} ${problem}`)
  }
  const clusters = new Map<string, RemoteCluster>()
  const made = new Map<ClusterBackend, RemoteCluster>()
  for (const [id, backend] of Object.entries(backends)) {
    const definition = definitions.find(cluster => cluster.id === id) ?? fail(id, 'is none of the clusters')
    if (definition.backend !== undefined) fail(id, 'is a cluster that has a backend by its configuration')
    if (definition.dataDir !== undefined) fail(id, 'is a cluster that has a dataDir by its configuration')
    if (definition.absent === true) continue
    const isOne = (['pin', 'unpin', 'status'] as const).every(name => typeof backend?.[name] === 'function')
    if (!isOne) fail(id, 'is no ClusterBackend: it needs pin, unpin and status')
    const reader = backend.reader ? new CheckedSource(backend.reader) : null
    const options = { place: 'given by the program', cacheBytes: CACHE_BYTES, graceMs: GRACE_SECONDS * 1_000 }
    const cluster = made.get(backend) ?? { connect: () => backend, reader, ...options }
    made.set(backend, cluster)
    clusters.set(id, cluster)
  }
  return clusters
}
