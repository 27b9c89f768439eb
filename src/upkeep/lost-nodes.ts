import type { StatusChange } from '../catalogue/fetches.ts'
import type { LostContent, LostNode, TakenOver, TakeOver } from '../catalogue/lost-content.ts'
import type { Clock } from '../domain/clock.ts'
import type { Logger } from '../domain/logger.ts'
import { DEFAULT_BACKEND_ID } from '../ledger/blocks.ts'

export interface LostNodesParts {
  lost: LostContent
  homeOf: (clusterId: string) => number | null
  hasCluster: (clusterId: string) => boolean
  canFetch: TakeOver['canFetch']
  onChanges: (changes: StatusChange[]) => Promise<void>
  clock: Clock
  logger: Logger
}

/** A pass reads all records. If it has found none to take over, the next one waits this many times as long. */
const REST = 4

/**
 * Takes over the records of lost nodes whose clusters this node keeps. Every node does its part. Takes over the pins that
 * wait on a node that retires; its content moves to copies.
 */
export class LostNodes {
  readonly #parts: LostNodesParts
  #restUntil = 0

  constructor(parts: LostNodesParts) {
    this.#parts = parts
  }

  async run(signal: AbortSignal): Promise<void> {
    const { lost, clock, logger } = this.#parts
    const isResting = clock.now() < this.#restUntil
    for (const node of await lost.nodes()) {
      if (node.isRetiring) await this.#retire(node, signal)
      if (node.isRetiring || isResting || !(await lost.fence(node))) continue
      for (let isMore = true; isMore; ) {
        const began = clock.now()
        const { taken, left } = await this.#pass(node, signal)
        this.#restUntil = clock.now() + (clock.now() - began) * REST
        isMore = taken > 0
        if (taken > 0 || left > 0) continue
        isMore = !(await lost.finish(node))
        if (!isMore) logger.info({ node: node.id }, 'the lost node is forgotten')
      }
    }
  }

  async #retire(node: LostNode, signal: AbortSignal): Promise<void> {
    const { lost, hasCluster, clock, onChanges, logger } = this.#parts
    const homeOf = (id: string): number => (hasCluster(id) ? this.#parts.homeOf(id) : null) ?? DEFAULT_BACKEND_ID
    for (let isMore = true; isMore; ) {
      const moved = await lost.moveWaiting({ node, homeOf, now: clock.now() })
      await onChanges(moved.changes)
      isMore = moved.isMore
      signal.throwIfAborted()
    }
    if (await lost.finishRetirement(node)) logger.info({ node: node.id }, 'the node has retired: it has no content')
  }

  /** Reads all records once. After a whole pass without a record of the node, no node has work left. */
  async #pass(node: LostNode, signal: AbortSignal): Promise<{ taken: number; left: number }> {
    const { lost, clock, hasCluster, canFetch, onChanges } = this.#parts
    const kept = await lost.keptClusters()
    const homeOf = (clusterId: string): number | null => {
      if (hasCluster(clusterId)) return this.#parts.homeOf(clusterId)
      return kept.has(clusterId) ? null : DEFAULT_BACKEND_ID
    }
    const all = { taken: 0, left: 0 }
    for (let after: string | null = ''; after !== null; ) {
      signal.throwIfAborted()
      const page: TakenOver = await lost.takeOver({ node, after, homeOf, canFetch, now: clock.now() })
      all.taken += page.taken
      all.left += page.left
      if (page.changes.length > 0) await onChanges(page.changes)
      after = page.last
    }
    return all
  }
}
