import { withoutTrailingSlashes } from './trailing-slashes.ts'

/** One gateway of a cluster as configured; bases are absolute URLs and need not end with `/ipfs/`. */
export interface GatewayDefinition {
  label: string
  publicUrl: string
  /** What the node itself would use, where it differs from `publicUrl`. */
  url?: string
}

/** What of a cluster that is kept elsewhere stays here. */
export interface KeptHere {
  /** Bytes of the cluster's content that stay on this disk to be read again. Default 1,073,741,824 (1 GiB). */
  cacheBytes?: number
  /** For how long all of a content stays on this disk once it is there, in seconds. Default 86,400 (a day). */
  localGraceSeconds?: number
}

/** A cluster that another Holdfast keeps, over its HTTP contract. One of `keyFile` and `keyEnv` is needed. */
export interface HoldfastBackendDefinition extends KeptHere {
  type: 'holdfast'
  /** The base of its contract, such as `https://pins.example.org/api/v3`. */
  url: string
  /** What the cluster is called there. */
  cluster: string
  /** A file with a key of an account there that is used for nothing else. */
  keyFile?: string
  /** The environment variable that has the key. */
  keyEnv?: string
  /** Its trustless gateway; default: that of `url`'s server. */
  gateway?: string
}

/** A cluster that a Kubo keeps, over its RPC. */
export interface KuboBackendDefinition extends KeptHere {
  type: 'kubo'
  /** The address of its RPC, such as `http://10.0.0.5:5001`. */
  api: string
  /** A file with what the RPC asks for: `bearer:<token>` or `basic:<user>:<password>`. */
  authFile?: string
  /** The environment variable that has it. */
  authEnv?: string
  /** Bases of trustless gateways by which the content is read; default: by the RPC. */
  gateways?: readonly string[]
  /** Takes content for pinned although the Kubo syncs nothing of it. Default false. */
  acceptUnsyncedBackend?: boolean
}

/** A cluster that an IPFS Cluster keeps, over the REST API of one of its peers. */
export interface IpfsClusterBackendDefinition extends KeptHere {
  type: 'ipfs-cluster'
  /** The base of that API, such as `http://10.0.0.5:9094`. */
  api: string
  /** A file with what the API asks for: `bearer:<token>` or `basic:<user>:<password>`. */
  authFile?: string
  /** The environment variable that has it. */
  authEnv?: string
  /** Bases of trustless gateways by which the content is read; without them all of it stays here, too. */
  gateways?: readonly string[]
  /** How many peers have to have all of a content before it is `pinned`; -1 for all. Default: as the cluster has it. */
  replicationMin?: number
  /** How many peers are to have it; -1 for all. Default: `replicationMin`. */
  replicationMax?: number
}

/** Who keeps a cluster's content elsewhere. */
export type BackendDefinition = HoldfastBackendDefinition | KuboBackendDefinition | IpfsClusterBackendDefinition

/** What tells backends apart: clusters whose backends are the same place are kept together there. */
export function backendPlace(backend: BackendDefinition): string {
  if (backend.type === 'kubo') return `kubo ${kuboBase(backend.api)}`
  if (backend.type === 'ipfs-cluster') return `ipfs-cluster ${withoutTrailingSlashes(backend.api)}`
  return `${backend.type} ${withoutTrailingSlashes(backend.url)} ${backend.cluster}`
}

/** The address of a Kubo's RPC without the path that all of it has. */
export function kuboBase(api: string): string {
  return withoutTrailingSlashes(withoutTrailingSlashes(api).replace(/\/api\/v0$/, ''))
}

/** A cluster as it is configured. */
export interface ClusterDefinition {
  /** By which requests and plans name it. */
  id: string
  /** For people, as region and country, which are shown and do nothing. */
  label: string
  region: string
  country: string | null
  /** Empty: the node's own gateway serves the cluster, at the engine's `publicUrl`. */
  gateways: readonly GatewayDefinition[]
  /** Gives the cluster an embedded backend of its own in this directory; without it, it shares the engine's. */
  dataDir?: string
  /** Further directories in which content of the cluster lies. It is read and deleted there; nothing new goes there. */
  alsoIn?: readonly string[]
  /** True while the cluster's directories are away: its content is unavailable, and nothing of it is released. */
  absent?: boolean
  /** Which of several nodes keeps the cluster's content, by its `node.id`; default: the only node. */
  node?: string
  /** Who keeps the cluster's content, if not this node. What has still to get there is kept here meanwhile. */
  backend?: BackendDefinition
}

/** Where requests go that name no cluster. */
export const DEFAULT_CLUSTER = 'cl0-global'

/** The six known clusters of the contract, all on the embedded node unless configured otherwise. */
export const knownClusters: readonly ClusterDefinition[] = [
  { id: 'cl0-global', label: 'Primary', region: 'Global', country: null, gateways: [] },
  { id: 'cl1-eu', label: 'eu', region: 'Europe', country: null, gateways: [] },
  { id: 'cl1-na', label: 'na', region: 'North America', country: null, gateways: [] },
  { id: 'cl2-es', label: 'es', region: 'Spain', country: 'ES', gateways: [] },
  { id: 'cl2-us', label: 'us', region: 'United States', country: 'US', gateways: [] },
  { id: 'cl2-de', label: 'de', region: 'Germany', country: 'DE', gateways: [] },
]
