import { absencesIn, type ClusterMember } from '../../../src/catalogue/rules/copy-rules.ts'

const CLUSTER = 'main'
const REPAIR_AFTER_MS = 1_800_000
/** Time for which surplus copies stay after a node has returned. */
const KEPT_MS = 86_400_000
const SPANS_MS = [1_000, 20_000, 600_000, REPAIR_AFTER_MS + 1_000, KEPT_MS]
/** Clocks of two nodes differ by at most twice this time. */
const MOST_SKEW_MS = 2_000

/** A node and its ways to the database and to other nodes. */
export interface PartedNode {
  readonly id: string
  /** Difference between its clock and that of the database. */
  readonly skewMs: number
  isDown: boolean
  /** True while it does not reach the database. */
  isCut: boolean
  seenAt: number
  /** Since then it has written each heartbeat. */
  unbrokenSince: number
}

/** The simulated time and network of a few nodes. */
export class CopyNetwork<Node extends PartedNode> {
  readonly #pick: (below: number) => number
  readonly #nodes: readonly Node[]
  readonly #parted = new Set<string>()
  readonly #absent = new Set<Node>()
  #now = 0
  /** Surplus copies stay until then. */
  keepUntil = 0

  constructor(pick: (below: number) => number, nodes: readonly Node[]) {
    this.#pick = pick
    this.#nodes = nodes
  }

  static node(id: string, pick: (below: number) => number): PartedNode {
    const skewMs = pick(2 * MOST_SKEW_MS) - MOST_SKEW_MS
    return { id, skewMs, isDown: false, isCut: false, seenAt: 0, unbrokenSince: 0 }
  }

  isWorking({ isDown, isCut }: Node): boolean {
    return !isDown && !isCut
  }

  /** Returns the time by the clock of a node. */
  timeOf({ skewMs }: Node): number {
    return this.#now + skewMs
  }

  isAbsent(node: Node): boolean {
    return this.#absent.has(node)
  }

  /** Returns whether a node gets an answer of another. */
  reaches(one: Node, other: Node): boolean {
    return !one.isDown && !other.isDown && (one === other || !this.#parted.has(pairOf(one, other)))
  }

  /** Breaks or mends something, or lets time pass. Returns what happened. */
  step(node: Node): string {
    const other = this.#nodes[this.#pick(this.#nodes.length)] ?? node
    switch (this.#pick(6)) {
      case 0:
        node.isDown = true
        return `${node.id} ends`
      case 1:
        this.#cut(node, true)
        return `${node.id} loses the database`
      case 2:
        this.#cut(node, false)
        return `${node.id} finds the database`
      case 3:
        this.#parted.add(pairOf(node, other))
        return `${node.id} and ${other.id} part`
      case 4:
        this.#parted.clear()
        return 'the network is whole'
      default:
        this.pass(SPANS_MS[this.#pick(SPANS_MS.length)] ?? 0)
        return `it is ${this.#now}`
    }
  }

  /** Lets time pass, and nodes write heartbeats. */
  pass(ms: number): void {
    this.#now += ms
    for (const node of this.#nodes) if (this.isWorking(node)) node.seenAt = this.#now
  }

  started(node: Node): void {
    node.isDown = false
    if (node.isCut) return
    node.seenAt = this.#now
    node.unbrokenSince = this.#now
  }

  /** A node looks for nodes that are away or have returned. Returns whether another set of nodes is away. */
  observe(node: Node): boolean {
    const { began, ended } = absencesIn(this.#members(), () => REPAIR_AFTER_MS, this.#now - node.unbrokenSince)
    for (const one of this.#nodes) {
      if (began.some(({ node: id }) => id === one.id)) this.#absent.add(one)
      if (ended.some(({ node: id }) => id === one.id)) this.#absent.delete(one)
    }
    if (ended.length > 0) this.keepUntil = this.#now + KEPT_MS
    return began.length + ended.length > 0
  }

  /** The operator confirms that all nodes stay away that have written no heartbeat for long. */
  confirm(): void {
    for (const node of this.#nodes) if (this.#now - node.seenAt >= REPAIR_AFTER_MS) this.#absent.add(node)
  }

  /** Mends everything. Returns the nodes that start. */
  mend(): Node[] {
    this.#parted.clear()
    const down = this.#nodes.filter(({ isDown }) => isDown)
    for (const node of this.#nodes) this.#cut(node, false)
    return down
  }

  #cut(node: Node, isCut: boolean): void {
    if (node.isCut && !isCut) node.unbrokenSince = this.#now
    node.isCut = isCut
    if (this.isWorking(node)) node.seenAt = this.#now
  }

  #members(): ClusterMember[] {
    return this.#nodes.map(node => {
      return { clusterId: CLUSTER, node: node.id, silentMs: this.#now - node.seenAt, isAbsent: this.isAbsent(node) }
    })
  }
}

function pairOf(one: PartedNode, other: PartedNode): string {
  return [one.id, other.id].sort().join(' ')
}
