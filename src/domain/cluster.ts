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

/** Configuration of the system that keeps a cluster's content. Its adapter names the other fields and checks them. */
export interface BackendDefinition extends KeptHere {
  /** Names the adapter, such as `kubo`. */
  readonly type: string
  readonly [field: string]: unknown
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
