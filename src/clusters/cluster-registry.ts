import { AbsentBlocks } from '../content/absent-blocks.ts'
import { type BlockSource, CheckedSource } from '../content/block-source.ts'
import { BlockStore } from '../content/block-store.ts'
import type { ClusterDefinition } from '../domain/cluster.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { Plan } from '../domain/plan.ts'
import { withoutTrailingSlashes } from '../domain/trailing-slashes.ts'
import type { LedgerBackend, StagingBackend } from './staging-backend.ts'

/** Where the content of a cluster is read over HTTP. */
export interface Gateway {
  /** Base address, ending with `/ipfs/`. */
  publicUrl: string
  /** What the node itself would use; `publicUrl` unless the configuration says otherwise. */
  url: string
  label: string
  /** From 0. */
  order: number
}

/** A cluster, as those see it who may use it. */
export interface Cluster {
  id: string
  /** For people. */
  label: string
  /** Shown, and nothing else. */
  region: string
  /** Such as `DE`; shown, and nothing else. */
  country: string | null
  /** In the order in which they are to be tried. */
  gateways: Gateway[]
}

/** The clusters of an engine in configured order: what each is called, who may use it, which backend holds it. */
export class ClusterRegistry {
  readonly #definitions: ReadonlyMap<string, ClusterDefinition>
  readonly #backends: ReadonlyMap<string, LedgerBackend>
  readonly #defaultBackend: StagingBackend
  readonly #defaultCluster: string
  /** By backend id. */
  readonly #readers: ReadonlyMap<number, BlockSource>
  readonly #others: readonly LedgerBackend[]
  readonly #elsewhere: ReadonlySet<string>
  readonly #node: string | undefined
  #gatewayUrl: string

  /** @param backends by cluster id, for clusters that do not share the default one */
  constructor(options: {
    clusters: readonly ClusterDefinition[]
    defaultCluster: string
    defaultBackend: StagingBackend
    backends: ReadonlyMap<string, LedgerBackend>
    /** Backends that clusters only read from. */
    others?: readonly LedgerBackend[] | undefined
    /** Numbers of backends whose directories are declared absent. */
    absent?: ReadonlySet<number> | undefined
    /** Ids of the clusters that are kept elsewhere. */
    elsewhere?: ReadonlySet<string> | undefined
    /** As what clusters name this node; undefined for one that is alone. */
    node?: string | undefined
    /** Where readers reach the node. */
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
    this.#elsewhere = options.elsewhere ?? new Set()
    this.#gatewayUrl = options.gatewayUrl
  }

  /** The backend on which uploads are staged before their cluster is known. */
  get defaultBackend(): StagingBackend {
    return this.#defaultBackend
  }

  /** Every backend once, the default one first. */
  get backends(): LedgerBackend[] {
    return [...new Set([this.#defaultBackend, ...this.#backends.values(), ...this.#others])]
  }

  /** Tells where readers reach the node, once that is known. */
  setGatewayUrl(url: string): void {
    this.#gatewayUrl = url
  }

  /** Where requests go that name none. */
  get defaultCluster(): string {
    return this.#defaultCluster
  }

  has(clusterId: string): boolean {
    return this.#definitions.has(clusterId)
  }

  /** The clusters that a plan may use. */
  allowed(plan: Pick<Plan, 'clusters'>): Cluster[] {
    return [...this.#definitions.values()]
      .filter(cluster => isAllowed(plan, cluster.id))
      .map(({ id, label, region, country, gateways }) => {
        const own = { label, publicUrl: this.#gatewayUrl }
        const configured = gateways.length > 0 ? gateways : [own]
        return { id, label, region, country, gateways: configured.map(presentGateway) }
      })
  }

  /**
   * The cluster that a request means: the named one, else the account's default, else the engine's.
   *
   * @throws HoldfastError `CLUSTER_NOT_ALLOWED`, the same for unknown and forbidden.
   */
  choose(plan: Plan, named: string | undefined, accountDefault: string | null): string {
    const id = named || accountDefault || this.#defaultCluster
    if (!this.#definitions.has(id) || !isAllowed(plan, id)) {
      throw new HoldfastError('CLUSTER_NOT_ALLOWED', `cl names a cluster that the plan ${plan.name} does not allow`)
    }
    return id
  }

  /** Ids of the clusters of this node that are declared absent. */
  get absent(): string[] {
    const here = [...this.#definitions.values()].filter(({ id }) => this.nodeOf(id) === null)
    return here.flatMap(({ id, absent }) => (absent === true ? id : []))
  }

  /** @throws HoldfastError `UNAVAILABLE` for a cluster that is declared absent */
  checkPresent(clusterId: string): void {
    if (this.#definitions.get(clusterId)?.absent !== true) return
    throw new HoldfastError('UNAVAILABLE', `the cluster ${clusterId} is absent`)
  }

  /** What a backend is read through, every block checked; null if it cannot be read, or is not one of these. */
  readerOf(backendId: number): BlockSource | null {
    return this.#readers.get(backendId) ?? null
  }

  /** Whether another node keeps a cluster's content. */
  isElsewhere(clusterId: string): boolean {
    return this.#elsewhere.has(clusterId)
  }

  /** The other node of the fleet that keeps a cluster's content; null if it is this one, or there is no such cluster. */
  nodeOf(clusterId: string): string | null {
    const node = this.#definitions.get(clusterId)?.node
    return node === undefined || node === this.#node ? null : node
  }

  /** The backends of clusters that this node keeps, by cluster id. */
  get homes(): ReadonlyMap<string, number> {
    const isHere = ({ id, absent }: ClusterDefinition): boolean =>
      absent !== true && !this.isElsewhere(id) && this.nodeOf(id) === null
    const here = [...this.#definitions.values()].filter(isHere).map(({ id }) => id)
    return new Map(here.map(id => [id, this.backendOf(id).id]))
  }

  /** The backend that takes a cluster's content. @throws HoldfastError `UNAVAILABLE` if it is another node's, or absent */
  backendOf(clusterId: string): LedgerBackend {
    const node = this.nodeOf(clusterId)
    if (node !== null) throw new HoldfastError('UNAVAILABLE', `the cluster ${clusterId} is kept by the node ${node}`)
    this.checkPresent(clusterId)
    return this.#backends.get(clusterId) ?? this.#defaultBackend
  }
}

/** One in this process checks by itself what it reads. */
function checkedReader(backend: LedgerBackend): BlockSource | null {
  const { reader } = backend
  return reader === null || reader instanceof BlockStore ? reader : new CheckedSource(reader)
}

function isAllowed(plan: Pick<Plan, 'clusters'>, clusterId: string): boolean {
  return plan.clusters === '*' || plan.clusters.includes(clusterId)
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
