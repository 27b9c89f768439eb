/** One gateway of a cluster. Bases are absolute URLs and need not end with `/ipfs/`. */
export interface GatewayDefinition {
  label: string
  publicUrl: string
  /** URL for the node's own requests, if it differs from `publicUrl`. */
  url?: string
}

/** Limits of the local copy of a remote cluster. */
export interface KeptHere {
  /** Bytes of the cluster's content to cache on this disk. Default 1,073,741,824 (1 GiB). */
  cacheBytes?: number
  /** Seconds that new content stays whole on this disk. Default 86,400 (a day). */
  localGraceSeconds?: number
}

/** Configuration of the system that keeps a cluster's content. Its adapter names the other fields and checks them. */
export interface BackendDefinition extends KeptHere {
  /** Name of the adapter, such as `kubo`. */
  readonly type: string
  readonly [field: string]: unknown
}

/** Configuration of a cluster. */
export interface ClusterDefinition {
  /** Id in requests and plans. */
  id: string
  /** Label, region and country are for display only. */
  label: string
  region: string
  country: string | null
  /** Empty: the node's own gateway serves the cluster, at the engine's `publicUrl`. */
  gateways: readonly GatewayDefinition[]
  /** Gives the cluster an embedded backend of its own in this directory; without it, it shares the engine's. */
  dataDir?: string
  /** More directories with content of the cluster, for reading and deleting only. */
  alsoIn?: readonly string[]
  /** True while the cluster's directories are unmounted: its content is unavailable, and none of it is released. */
  absent?: boolean
  /** `node.id` of the node that keeps the cluster's content; default: the only node. */
  node?: string
  /** Remote system that keeps the cluster's content. This node holds content until it has been sent. */
  backend?: BackendDefinition
}

/** Cluster of requests that name none. */
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
