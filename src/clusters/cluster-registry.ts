import { allowsCluster, checkCluster } from '../access/plan-catalogue.ts'
import { AbsentBlocks } from '../content/absent-blocks.ts'
import { type BlockSource, CheckedSource } from '../content/block-source.ts'
import { BlockStore } from '../content/block-store.ts'
import { type ClusterDefinition, REPAIR_AFTER_SECONDS } from '../domain/cluster.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { Plan } from '../domain/plan.ts'
import { withoutTrailingSlashes } from '../domain/trailing-slashes.ts'
import type { LedgerBackend, StagingBackend } from './staging-backend.ts'

/** HTTP gateway that serves the content of a cluster. */
export interface Gateway {
  /** Base URL that clients use. It ends in `/ipfs/`. */
  publicUrl: string
  /** Base URL that this node uses. Default: `publicUrl`. */
  url: string
  label: string
  /** Position in the list of gateways, starting at 0. */
  order: number
}

/** Cluster in the form that its users see. */
export interface Cluster {
  id: string
  label: string
  region: string
  /** Country code to display, such as `DE`. */
  country: string | null
  /** Gateways in the order in which clients should try them. */
  gateways: Gateway[]
}

export class ClusterRegistry {
  readonly #definitions: ReadonlyMap<string, ClusterDefinition>
  readonly #backends: ReadonlyMap<string, LedgerBackend>
  readonly #defaultBackend: StagingBackend
  readonly #defaultCluster: string
  readonly #readers: ReadonlyMap<number, BlockSource>
  readonly #others: readonly LedgerBackend[]
  readonly #external: ReadonlySet<string>
  readonly #node: string | undefined
  #gatewayUrl: string

  /** @param options.backends backends by cluster id. Clusters on the default backend are omitted. */
  constructor(options: {
    clusters: readonly ClusterDefinition[]
    defaultCluster: string
    defaultBackend: StagingBackend
    backends: ReadonlyMap<string, LedgerBackend>
    /** Additional backends whose blocks this node can read. */
    others?: readonly LedgerBackend[] | undefined
    /** Backends whose directories the configuration declares absent. */
    absent?: ReadonlySet<number> | undefined
    external?: ReadonlySet<string> | undefined
    node?: string | undefined
    gatewayUrl: string
  }) {
    this.#node = options.node
    this.#definitions = new Map(options.clusters.map(cluster => [cluster.id, cluster]))
    this.#defaultCluster = options.defaultCluster
    this.#defaultBackend = options.defaultBackend
    this.#backends = options.backends
    this.#others = options.others ?? []
    const absent = new AbsentBlocks()
    const readers: (readonly [number, BlockSource | null])[] = [
      ...this.backends.map(backend => [backend.id, checkedReader(backend)] as const),
      ...[...(options.absent ?? [])].map(id => [id, absent] as const),
    ]
    this.#readers = new Map(readers.flatMap(([id, reader]) => (reader === null ? [] : [[id, reader]])))
    this.#external = options.external ?? new Set()
    this.#gatewayUrl = gatewayBase(options.gatewayUrl)
  }

  /** Backend on which uploads are staged until their cluster is known. */
  get defaultBackend(): StagingBackend {
    return this.#defaultBackend
  }

  /** The default backend comes first. */
  get backends(): LedgerBackend[] {
    return [...new Set([this.#defaultBackend, ...this.#backends.values(), ...this.#others])]
  }

  /** Call this when the public URL of this node's gateway is known. */
  setGatewayUrl(url: string): void {
    this.#gatewayUrl = gatewayBase(url)
  }

  get defaultCluster(): string {
    return this.#defaultCluster
  }

  /** Ids of all clusters, in configured order. */
  get ids(): string[] {
    return [...this.#definitions.keys()]
  }

  has(clusterId: string): boolean {
    return this.#definitions.has(clusterId)
  }

  allowed(plan: Pick<Plan, 'clusters'>): Cluster[] {
    return [...this.#definitions.values()]
      .filter(cluster => allowsCluster(plan, cluster.id))
      .map(({ id, label, region, country, gateways }) => {
        const own = { label, publicUrl: this.#gatewayUrl }
        const configured = gateways.length > 0 ? gateways : [own]
        return { id, label, region, country, gateways: configured.map(presentGateway) }
      })
  }

  /** Returns the URL of content at the first gateway of its cluster. */
  urlOf({ cid, clusterId }: { cid: string; clusterId: string }): string {
    const [first] = this.#definitions.get(clusterId)?.gateways ?? []
    return (first === undefined ? this.#gatewayUrl : gatewayBase(first.publicUrl)) + cid
  }

  /**
   * Returns the named cluster, or else the default of the account, or else the default of the engine.
   * @throws HoldfastError `CLUSTER_NOT_ALLOWED`, with the same message for an unknown and a forbidden cluster
   */
  choose(plan: Plan, named: string | undefined, accountDefault: string | null): string {
    const id = named || accountDefault || this.#defaultCluster
    if (!this.#definitions.has(id) || !allowsCluster(plan, id)) checkCluster(id, plan, this.ids)
    return id
  }

  get absent(): string[] {
    const local = [...this.#definitions.values()].filter(({ id }) => this.nodeOf(id) === null)
    return local.flatMap(({ id, absent }) => (absent === true ? id : []))
  }

  /** @throws HoldfastError `UNAVAILABLE` if the configuration declares the cluster absent */
  checkPresent(clusterId: string): void {
    if (this.#definitions.get(clusterId)?.absent !== true) return
    throw new HoldfastError('UNAVAILABLE', `the cluster ${clusterId} is absent`)
  }

  /** Returns null if the backend is unknown or cannot be read. */
  readerOf(backendId: number): BlockSource | null {
    return this.#readers.get(backendId) ?? null
  }

  isExternal(clusterId: string): boolean {
    return this.#external.has(clusterId)
  }

  /** Returns the nodes that may receive content of a cluster, in order. Empty for a node that works alone. */
  nodesOf(clusterId: string): readonly string[] {
    const { node, nodes = node === undefined ? [] : [node] } = this.#definitions.get(clusterId) ?? {}
    return nodes
  }

  /** Returns whether this node may receive content of a cluster. */
  mayReceive(clusterId: string): boolean {
    return this.nodeOf(clusterId) === null || (this.#node !== undefined && this.nodesOf(clusterId).includes(this.#node))
  }

  /** True if a cluster wants several copies. */
  get hasCopies(): boolean {
    return this.ids.some(id => this.copiesOf(id) > 1)
  }

  /** Returns the number of nodes that should keep the content of a cluster. */
  copiesOf(clusterId: string): number {
    return this.#definitions.get(clusterId)?.copies ?? 1
  }

  /** Returns how long a node of a cluster is away before others copy what it has, in ms. */
  repairAfterMs(clusterId: string): number | undefined {
    const cluster = this.#definitions.get(clusterId)
    return cluster === undefined ? undefined : (cluster.repairAfterSeconds ?? REPAIR_AFTER_SECONDS) * 1_000
  }

  /** Returns the first node of a cluster, or null if that is this node, or if the cluster is unknown. */
  nodeOf(clusterId: string): string | null {
    const node = this.#definitions.get(clusterId)?.node
    return node === undefined || node === this.#node ? null : node
  }

  /**
   * Returns the ids of the clusters whose content is in the same system as that of a cluster, which may be of another
   * node.
   * @throws HoldfastError `UNAVAILABLE` if the configuration declares the cluster absent
   */
  sharing(clusterId: string): string[] {
    this.checkPresent(clusterId)
    const system = this.#systemOf(clusterId)
    return this.ids.filter(id => this.#systemOf(id) === system)
  }

  /** Returns a text that is equal for clusters on the same system. Null for an absent cluster. */
  #systemOf(clusterId: string): string | null {
    const { node, dataDir, backend, absent } = this.#definitions.get(clusterId) ?? {}
    if (absent === true) return null
    // Only the node of a cluster knows the number of its backend.
    const isOwn = this.nodeOf(clusterId) === null
    return isOwn ? `${this.backendOf(clusterId).id}` : JSON.stringify([node, dataDir, backend])
  }

  /** Backend ids of the clusters whose content is in this node's own directories, by cluster id. */
  get homes(): ReadonlyMap<string, number> {
    const isLocal = ({ id, absent }: ClusterDefinition): boolean =>
      absent !== true && !this.isExternal(id) && this.nodeOf(id) === null
    const local = [...this.#definitions.values()].filter(isLocal).map(({ id }) => id)
    return new Map(local.map(id => [id, this.backendOf(id).id]))
  }

  /** @throws HoldfastError `UNAVAILABLE` if only other nodes keep the cluster or the cluster is declared absent */
  backendOf(clusterId: string): LedgerBackend {
    const node = this.mayReceive(clusterId) ? null : this.nodeOf(clusterId)
    if (node !== null) throw new HoldfastError('UNAVAILABLE', `the cluster ${clusterId} is kept by the node ${node}`)
    this.checkPresent(clusterId)
    return this.#backends.get(clusterId) ?? this.#defaultBackend
  }
}

/** Returns a reader that checks the hash of each block. A `BlockStore` checks them itself. */
function checkedReader(backend: LedgerBackend): BlockSource | null {
  const { reader } = backend
  return reader === null || reader instanceof BlockStore ? reader : new CheckedSource(reader)
}

function presentGateway(gateway: ClusterDefinition['gateways'][number], order: number): Gateway {
  const publicUrl = gatewayBase(gateway.publicUrl)
  return {
    publicUrl,
    url: gateway.url === undefined ? publicUrl : gatewayBase(gateway.url),
    label: gateway.label,
    order,
  }
}

function gatewayBase(url: string): string {
  return `${withoutTrailingSlashes(url).replace(/\/ipfs$/, '')}/ipfs/`
}
