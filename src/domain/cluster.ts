/** A gateway of a cluster. The URLs are absolute and need not end with `/ipfs/`. */
export interface GatewayDefinition {
  label: string
  publicUrl: string
  /** URL for requests from this node, if it differs from `publicUrl`. */
  url?: string
}

/** Limits of the copy that this node stores of a remote cluster's content. */
export interface KeptHere {
  /** Maximum bytes of the cluster's content that this node caches. Default: 1,073,741,824 (1 GiB). */
  cacheBytes?: number
  /** Time for which this node stores new content completely. Default: 86,400 (a day). */
  localGraceSeconds?: number
}

/** The remote system that stores a cluster's content. The adapter defines and checks the other fields. */
export interface BackendDefinition extends KeptHere {
  /** Name of the adapter, such as `kubo`. */
  readonly type: string
  readonly [field: string]: unknown
}

/** Configuration of a cluster. */
export interface ClusterDefinition {
  id: string
  /** Label, region and country are only displayed. */
  label: string
  region: string
  country: string | null
  /** If empty, the node's own gateway serves the content, at the engine's `publicUrl`. */
  gateways: readonly GatewayDefinition[]
  /** Directory for the cluster's content. Default: the engine's data directory. */
  dataDir?: string
  /** More directories with content of the cluster. The node reads and deletes content in them, but adds none. */
  alsoIn?: readonly string[]
  /**
   * True if the cluster's directories are not mounted. Its content is then unavailable, but the node deletes none of
   * it.
   */
  absent?: boolean
  /** `node.id` of the node that stores the cluster's content. Default: this node, if it works alone. */
  node?: string
  /** Nodes that may store the content. New content arrives on the first of them, which is also `node`. */
  nodes?: readonly string[]
  /** Number of nodes that store the content. Default: 1. */
  copies?: number
  /** Time for which a node may be away until others copy what it stores. Default: 1,800. */
  repairAfterSeconds?: number
  /**
   * Remote system that stores the cluster's content. This node stores new content until that system has received it.
   */
  backend?: BackendDefinition
}

export const REPAIR_AFTER_SECONDS = 1_800

/** Configuration of a cluster as an embedder writes it. Omitted fields have defaults. */
export type ClusterOptions = Pick<ClusterDefinition, 'id'> & Partial<ClusterDefinition>

export const DEFAULT_CLUSTER = 'cl0-global'

/** The six clusters of the API contract, on the embedded node unless configured otherwise. */
export const knownClusters: readonly ClusterDefinition[] = [
  { id: 'cl0-global', label: 'Primary', region: 'Global', country: null, gateways: [] },
  { id: 'cl1-eu', label: 'eu', region: 'Europe', country: null, gateways: [] },
  { id: 'cl1-na', label: 'na', region: 'North America', country: null, gateways: [] },
  { id: 'cl2-es', label: 'es', region: 'Spain', country: 'ES', gateways: [] },
  { id: 'cl2-us', label: 'us', region: 'United States', country: 'US', gateways: [] },
  { id: 'cl2-de', label: 'de', region: 'Germany', country: 'DE', gateways: [] },
]
