import type { StatusChange } from '../catalogue/fetches.ts'
import type { MovedRoot, Retirements, RetiringNode, RetiringRoot } from '../catalogue/retirements.ts'
import type { StagingBackend } from '../clusters/staging-backend.ts'
import { Semaphore } from '../concurrency/capacity/semaphore.ts'
import { nextTurn, turnSpent } from '../concurrency/turns.ts'
import type { BlockSource } from '../content/block-source.ts'
import type { Clock } from '../domain/clock.ts'
import { isHoldfastError } from '../domain/errors.ts'
import type { Logger } from '../domain/logger.ts'
import { cidOf } from '../ipld/cid.ts'
import { takeDag } from './taken-dag.ts'

export interface RetirementParts {
  retirements: Retirements
  /** Returns the backend for the content of a cluster. */
  homeOf: (clusterId: string | null) => number
  /** Returns whether the configuration has a cluster, on any node. */
  hasCluster: (clusterId: string) => boolean
  backendOf: (backendId: number) => StagingBackend
  readerOf: (nodeId: string) => BlockSource
  onChanges: (changes: StatusChange[]) => Promise<void>
  clock: Clock
  logger: Logger
}

type Taken = MovedRoot & Awaited<ReturnType<typeof takeDag>>

/** DAGs that are copied concurrently. */
const AT_ONCE = 8
/** DAGs that are copied before their records are moved. The records wait for their accounts, which others use, too. */
const STEP = 50

/** Copies the content of retiring nodes to this node, and switches the records. A kill loses at most one step. */
export class Retirement {
  readonly #parts: RetirementParts
  readonly #copying = new Semaphore(AT_ONCE)
  /** How often content could not be copied, by the id of its root. */
  readonly #refusals = new Map<number, number>()
  /** Nodes of which a root without an answer was logged. */
  readonly #logged = new Set<string>()
  /** The last root that the unfinished pass over the content of a node has tried, by the name of the node. */
  readonly #places = new Map<string, number>()

  constructor(parts: RetirementParts) {
    this.#parts = parts
  }

  async run(signal: AbortSignal): Promise<void> {
    const { retirements, logger } = this.#parts
    for (const node of await retirements.nodes()) {
      while ((await this.#moveAll(node, signal)) > 0) if (turnSpent()) await nextTurn(signal)
      await this.#moveWaiting(node, signal)
      if (await retirements.finish(node)) logger.info({ node: node.id }, 'the node has retired: it has no content')
    }
  }

  /**
   * Moves all content once. Ends early if the node answers for no root of a step. The next call continues behind this
   * step: perhaps the node can still read its other content. Returns the number of moved records.
   */
  async #moveAll(node: RetiringNode, signal: AbortSignal): Promise<number> {
    let count = 0
    for (let after: number | null = this.#places.get(node.name) ?? 0; after !== null; ) {
      const { roots, last } = await this.#parts.retirements.roots(node, after)
      for (let i = 0; i < roots.length; i += STEP) {
        const step = roots.slice(i, i + STEP)
        const moved = await this.#moveSome(node, step, signal)
        count += moved.count
        this.#places.set(node.name, step.at(-1)?.id ?? 0)
        if (moved.isUnanswered) return count
        await nextTurn(signal)
      }
      after = last
      signal.throwIfAborted()
    }
    this.#places.delete(node.name)
    return count
  }

  async #moveSome(node: RetiringNode, roots: readonly RetiringRoot[], signal: AbortSignal) {
    const copy = (root: RetiringRoot) => this.#copying.hold(1, () => this.#take(node, root, signal))
    const outcomes = await Promise.allSettled(roots.map(copy))
    const taken = outcomes.flatMap(outcome => (outcome.status === 'fulfilled' ? outcome.value : []))
    let unanswered = 0
    for (const [i, outcome] of outcomes.entries()) {
      const root = roots[i]
      if (outcome.status === 'fulfilled' || root === undefined || signal.aborted) continue
      if (isHoldfastError(outcome.reason, 'UNAVAILABLE')) unanswered++
      this.#refuse(node, root, outcome.reason)
    }
    try {
      const count = taken.length === 0 ? 0 : await this.#parts.retirements.move(taken)
      if (count > 0) this.#tell(node, roots, taken)
      return { count, isUnanswered: unanswered === roots.length }
    } finally {
      // A complete root is not abandoned.
      await Promise.all(taken.map(({ staged }) => staged.abandon()))
    }
  }

  /** Names the moved content of clusters that the configuration has no longer. */
  #tell(node: RetiringNode, roots: readonly RetiringRoot[], taken: readonly Taken[]): void {
    const moved = new Set(taken.map(({ from }) => from))
    const isOld = ({ id, clusterId }: RetiringRoot) =>
      moved.has(id) && clusterId !== null && !this.#parts.hasCluster(clusterId)
    for (const [cluster, some] of Map.groupBy(roots.filter(isOld), ({ clusterId }) => clusterId)) {
      const fields = { node: node.id, cluster, cids: some.map(root => cidOf(root).toString()) }
      this.#parts.logger.info(fields, 'content of a cluster that no configuration has moved to this node')
    }
  }

  async #take(node: RetiringNode, root: RetiringRoot, signal: AbortSignal): Promise<Taken> {
    const backendId = this.#parts.homeOf(root.clusterId)
    const source = this.#parts.readerOf(node.id)
    const taken = await takeDag(root, this.#parts.backendOf(backendId), source, signal)
    return { ...taken, from: root.id, backendId }
  }

  /**
   * Logs the second refusal: after the first, the content may have been removed meanwhile. Logs one root for each node
   * that does not answer.
   */
  #refuse(node: RetiringNode, root: RetiringRoot, err: unknown): void {
    const times = (this.#refusals.get(root.id) ?? 0) + 1
    this.#refusals.set(root.id, times)
    if (times !== 2) return
    if (isHoldfastError(err, 'UNAVAILABLE')) {
      if (this.#logged.has(node.name)) return
      this.#logged.add(node.name)
    }
    this.#parts.logger.error({ cid: cidOf(root).toString(), err }, 'content of a retiring node could not be copied')
  }

  async #moveWaiting(node: RetiringNode, signal: AbortSignal): Promise<void> {
    const { retirements, homeOf, onChanges, clock } = this.#parts
    for (let isMore = true; isMore; ) {
      const { changes, count } = await retirements.moveWaiting({ node, homeOf, now: clock.now() })
      await onChanges(changes)
      isMore = count > 0
      signal.throwIfAborted()
    }
  }
}
