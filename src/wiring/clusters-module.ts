import type { ClusterRegistry as PublicRegistry } from '../api.ts'
import type { ClusterBackend } from '../clusters/cluster-backend.ts'
import { ClusterRegistry } from '../clusters/cluster-registry.ts'
import { ClusterWatch } from '../clusters/cluster-watch.ts'
import { EmbeddedBackend } from '../clusters/embedded-backend.ts'
import { LiveContent } from '../content/live-content.ts'
import { PossessedContent } from '../content/taken-source.ts'
import type { Clock } from '../domain/clock.ts'
import { type ClusterDefinition, DEFAULT_CLUSTER } from '../domain/cluster.ts'
import { HoldfastError } from '../domain/errors.ts'
import { type DagIdentity, identityOf, parseCid } from '../ipld/cid.ts'
import { backends as backendRows } from '../ledger/backend-table.ts'
import { DEFAULT_BACKEND_ID } from '../ledger/blocks.ts'
import type { FetchingBackend } from '../pins/placement/fetching-backend.ts'
import type { AccessModule } from './access-module.ts'
import type { ContentModule } from './content-module.ts'
import type { Setup } from './setup.ts'
import type { StorageModule } from './storage-module.ts'

/** Base URL of the gateway until the node knows its public URL. */
const LOCAL_URL = 'http://127.0.0.1:4100'

export type ClustersModule = ReturnType<typeof makeClusters>

export function makeClusters(
  { clusters, config, clock }: Setup,
  { storage, content: { blockStores, leases } }: { storage: StorageModule; content: ContentModule },
) {
  const { ledger, heldRoots } = storage
  let addresses: () => readonly string[] = () => []
  const embedded = new Map(
    [...blockStores].map(([id, store]) => [id, new EmbeddedBackend(store, ledger, heldRoots, clock)]),
  )
  const embeddedOf = (id: number): EmbeddedBackend => {
    const backend = embedded.get(id)
    if (backend === undefined) throw new HoldfastError('INTERNAL_ERROR', `there is no backend ${id}`)
    return backend
  }
  const registry = new ClusterRegistry({
    clusters,
    defaultCluster: config.defaultCluster ?? defaultOf(clusters),
    defaultBackend: embeddedOf(DEFAULT_BACKEND_ID),
    backends: new Map([...storage.ownBackends].map(([cluster, id]) => [cluster, embeddedOf(id)])),
    others: [...embedded.values()],
    absent: storage.absent,
    external: new Set(storage.remotes.keys()),
    node: config.node?.id,
    gatewayUrl: config.gateway.publicUrl ?? config.publicUrl ?? LOCAL_URL,
  })
  const remote = remoteBackends(storage, () => addresses())
  const watch = watchOf(remote, storage, clock)
  const isHere = (cluster: string): boolean => registry.nodeOf(cluster) === null && !registry.absent.includes(cluster)
  return {
    registry,
    embeddedOf,
    remote,
    fetchingBackends: fetchingBackendsOf(remote, storage),
    watch,
    /** Returns the peers of a cluster that this node keeps; null as in {@link ClusterWatch.allocations}. */
    peersOf: async (cluster: string, dag: DagIdentity) =>
      isHere(cluster) ? watch.allocations(registry.backendOf(cluster).id, dag) : null,
    /** Asks for the peers of a pin again at the next request, because its status changed. */
    forgetPeers: ({ clusterId, cid }: { clusterId: string; cid: string }): void => {
      if (isHere(clusterId)) watch.forget(registry.backendOf(clusterId).id, identityOf(parseCid(cid)))
    },
    reachableAt: (now: () => readonly string[]): void => {
      addresses = now
    },
    start: async (): Promise<void> => watch.start(),
    stop: async (): Promise<void> => watch.stop(),
    live: new LiveContent(heldRoots, registry, leases, clock),
    possessed: new PossessedContent(heldRoots, registry),
  }
}

function watchOf(
  remote: ReadonlyMap<number, ClusterBackend>,
  { catalogue, ownBackends }: Pick<StorageModule, 'catalogue' | 'ownBackends'>,
  clock: Clock,
): ClusterWatch {
  const clustersOf = (id: number): string[] => [...ownBackends].flatMap(([cluster, own]) => (own === id ? cluster : []))
  const backends = new Map([...remote].map(([id, backend]) => [id, { backend, clusters: clustersOf(id) }]))
  return new ClusterWatch({ backends, placements: catalogue.placements, clock })
}

function defaultOf(clusters: readonly ClusterDefinition[]): string {
  if (clusters.some(cluster => cluster.id === DEFAULT_CLUSTER)) return DEFAULT_CLUSTER
  return clusters[0]?.id ?? DEFAULT_CLUSTER
}

function remoteBackends(
  { database, remotes, ownBackends }: Pick<StorageModule, 'database' | 'remotes' | 'ownBackends'>,
  addresses: () => readonly string[],
): ReadonlyMap<number, ClusterBackend> {
  const identities = new Map(backendRows(database).map(({ id, identity }) => [id, identity]))
  const made = new Map<number, ClusterBackend>()
  for (const [cluster, { connect }] of remotes) {
    const id = ownBackends.get(cluster)
    const identity = id === undefined ? undefined : identities.get(id)
    if (id === undefined || identity === undefined) {
      throw new HoldfastError('INTERNAL_ERROR', `the cluster ${cluster} has no backend`)
    }
    if (!made.has(id)) made.set(id, connect(`holdfast:${identity}`, addresses))
  }
  return made
}

function fetchingBackendsOf(
  remote: ReadonlyMap<number, ClusterBackend>,
  { remotes, ownBackends }: Pick<StorageModule, 'remotes' | 'ownBackends'>,
): ReadonlyMap<number, FetchingBackend> {
  const fetchingBackends = new Map<number, FetchingBackend>()
  for (const [cluster, { reader }] of remotes) {
    const id = ownBackends.get(cluster)
    const backend = id === undefined ? undefined : remote.get(id)
    if (id === undefined || reader === null || backend === undefined || !fetchesItself(backend)) continue
    fetchingBackends.set(id, { backend, reader })
  }
  return fetchingBackends
}

function fetchesItself(backend: ClusterBackend): backend is FetchingBackend['backend'] {
  return backend.sizeOf !== undefined
}

export function publicClusters({ registry, remote }: ClustersModule, access: AccessModule): PublicRegistry {
  const planOf = async (id: string) => access.plans.get((await access.accounts.get(id)).plan)
  return {
    list: async ({ account } = {}) =>
      registry.allowed(account === undefined ? { clusters: '*' } : await planOf(account)),
    backendOf: async (cluster = registry.defaultCluster) => {
      if (!registry.has(cluster)) throw new HoldfastError('NOT_FOUND', `there is no cluster ${cluster}`)
      const here = registry.backendOf(cluster)
      return remote.get(here.id) ?? here
    },
  }
}
