import { type BlockSource, CheckedSource, type SizedSource } from '../content/block-source.ts'
import type { Clock } from '../domain/clock.ts'
import {
  type BackendDefinition,
  backendPlace,
  type ClusterDefinition,
  type HoldfastBackendDefinition,
  type IpfsClusterBackendDefinition,
  type KuboBackendDefinition,
  kuboBase,
} from '../domain/cluster.ts'
import { HoldfastError } from '../domain/errors.ts'
import { withoutTrailingSlashes } from '../domain/trailing-slashes.ts'
import type { HttpClient } from '../outgoing/http-client.ts'
import type { ClusterBackend } from './cluster-backend.ts'
import { authorizationOf, type Environment, secretOf } from './secrets.ts'

/** What keeps a cluster elsewhere. */
export interface RemoteCluster {
  /**
   * @param mark by what this node's records are known there: unique to it, printable
   * @param addresses multiaddrs by which peers reach this node, each with its id; none if they do not
   */
  connect(mark: string, addresses: () => readonly string[]): ClusterBackend
  /** Every block checked; null if it cannot be read there, so that all of it stays here. */
  reader: BlockSource | null
  /** What keeps it, as {@link backendPlace} names it. */
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

/** @throws HoldfastError `CONFIG_INVALID` for a key that is not to be had */
export async function openRemotes(
  definitions: readonly ClusterDefinition[],
  { clock, environment, backends }: { clock: Clock; environment: Environment; backends: GivenBackends },
): Promise<RemoteClusters> {
  const given = givenClusters(definitions, backends)
  const remote = definitions.flatMap(({ id, backend, absent }) => {
    return backend === undefined || absent === true ? [] : [{ id, backend }]
  })
  if (remote.length === 0) return { clusters: given, close: async () => undefined }
  const clusters = new Map(given)
  const byPlace = new Map<string, RemoteCluster>()
  // Without such a cluster nothing of this is loaded.
  const { openHttpClient } = await import('../outgoing/http-client.ts')
  const { GatewayClient } = await import('../outgoing/gateway-client.ts')
  const { GatewaysReader } = await import('./gateways-reader.ts')
  const http = openHttpClient()
  // The owner has named these places: they may be anywhere.
  const gateway = new GatewayClient({ trusted: new Set(), allowPrivate: true })
  const readerOf = (bases: readonly string[]) => new GatewaysReader(bases.map(gatewayOrigin), gateway, clock)
  const close = async (): Promise<void> => {
    await Promise.all([http.close(), gateway.close()])
  }
  try {
    for (const { id, backend } of remote) {
      const place = backendPlace(backend)
      const cluster = byPlace.get(place) ?? (await openRemote(id, backend, { clock, environment, http, readerOf }))
      byPlace.set(place, cluster)
      clusters.set(id, cluster)
    }
    return { clusters, close }
  } catch (error) {
    await close()
    throw error
  }
}

interface Means {
  clock: Clock
  environment: Environment
  http: HttpClient
  /** Every block checked. */
  readerOf: (gateways: readonly string[]) => SizedSource
}

async function openRemote(id: string, backend: BackendDefinition, means: Means): Promise<RemoteCluster> {
  const { cacheBytes = CACHE_BYTES, localGraceSeconds = GRACE_SECONDS } = backend
  const opened = await openBackend(id, backend, means)
  return { ...opened, place: backendPlace(backend), cacheBytes, graceMs: localGraceSeconds * 1_000 }
}

type Opened = Pick<RemoteCluster, 'connect' | 'reader'>

function openBackend(id: string, backend: BackendDefinition, means: Means): Promise<Opened> {
  if (backend.type === 'kubo') return openKubo(id, backend, means)
  if (backend.type === 'ipfs-cluster') return openIpfsCluster(id, backend, means)
  return openHoldfast(id, backend, means)
}

async function openHoldfast(id: string, backend: HoldfastBackendDefinition, means: Means): Promise<Opened> {
  const { HoldfastBackend } = await import('./holdfast/holdfast-backend.ts')
  const { keyFile: file, keyEnv: env, cluster } = backend
  const key = await secretOf(id, { what: 'key', file, env }, means.environment)
  const url = withoutTrailingSlashes(backend.url)
  const reader = means.readerOf([backend.gateway ?? url.replace(/\/api\/v3$/, '')])
  const connect = (mark: string) => new HoldfastBackend({ url, key, cluster, send: means.http.send, reader, mark })
  return { connect, reader }
}

async function openKubo(id: string, backend: KuboBackendDefinition, means: Means): Promise<Opened> {
  const { KuboBackend } = await import('./kubo/kubo-backend.ts')
  const { KuboRpc } = await import('./kubo/kubo-rpc.ts')
  const { RpcReader } = await import('./kubo/rpc-reader.ts')
  const { clock, http } = means
  const authorization = await authorizationOf(id, backend, means.environment)
  const rpc = new KuboRpc({ url: kuboBase(backend.api), authorization, http, clock })
  const { gateways = [], acceptUnsyncedBackend: acceptUnsynced = false } = backend
  const reader = gateways.length > 0 ? means.readerOf(gateways) : new CheckedSource(new RpcReader(rpc))
  return { connect: mark => new KuboBackend({ rpc, mark, reader, clock, acceptUnsynced }), reader }
}

async function openIpfsCluster(id: string, backend: IpfsClusterBackendDefinition, means: Means): Promise<Opened> {
  const { IpfsClusterApi } = await import('./ipfs-cluster/api.ts')
  const { IpfsClusterBackend } = await import('./ipfs-cluster/ipfs-cluster-backend.ts')
  const { clock, http } = means
  const { gateways = [], replicationMin: min, replicationMax: max } = backend
  const authorization = await authorizationOf(id, backend, means.environment)
  const api = new IpfsClusterApi({ url: withoutTrailingSlashes(backend.api), authorization, http, clock })
  const reader = gateways.length > 0 ? means.readerOf(gateways) : null
  const options = { api, replication: min === undefined ? null : { min, max: max ?? min }, reader, clock }
  return { connect: (mark, addresses) => new IpfsClusterBackend({ ...options, mark, addresses }), reader }
}

/** A gateway's base, as it is asked. */
function gatewayOrigin(base: string): URL {
  return new URL(withoutTrailingSlashes(base).replace(/\/ipfs$/, ''))
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
