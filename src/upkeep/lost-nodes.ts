import type { StatusChange } from '../catalogue/fetches.ts'
import type { LostContent, LostNode, TakeOver } from '../catalogue/lost-content.ts'
import type { Clock } from '../domain/clock.ts'
import type { Logger } from '../domain/logger.ts'

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

/** Takes over the records of lost nodes whose clusters this node keeps. Every node does its part. */
export class LostNodes {
  readonly #parts: LostNodesParts
  #running: Promise<void> | null = null
  #isStopped = false
  #restUntil = 0

  constructor(parts: LostNodesParts) {
    this.#parts = parts
  }

  /** Starts a pass, unless one is running. */
  wake(): void {
    if (this.#isStopped) return
    this.#running ??= this.#all()
      .catch((err: unknown) => this.#parts.logger.warn({ err }, 'records of a lost node were not taken over yet'))
      .finally(() => {
        this.#running = null
      })
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#running
  }

  async #all(): Promise<void> {
    const { lost, clock, logger } = this.#parts
    if (clock.now() < this.#restUntil) return
    for (const node of await lost.nodes()) {
      if (!(await lost.fence(node))) continue
      for (let isMore = true; isMore && !this.#isStopped; ) {
        const began = clock.now()
        const { taken, left, isWhole } = await this.#pass(node)
        this.#restUntil = clock.now() + (clock.now() - began) * REST
        isMore = taken > 0
        if (taken > 0 || left > 0 || !isWhole) continue
        await lost.finish(node)
        logger.info({ node: node.id }, 'the lost node is forgotten')
      }
    }
  }

  /** Reads all records once. After a whole pass without a record of the node, no node has work left. */
  async #pass(node: LostNode): Promise<{ taken: number; left: number; isWhole: boolean }> {
    const { lost, clock, hasCluster, canFetch, onChanges } = this.#parts
    const kept = await lost.keptClusters()
    const homeOf = (clusterId: string): number | null | 'none' => {
      if (hasCluster(clusterId)) return this.#parts.homeOf(clusterId)
      return kept.has(clusterId) ? null : 'none'
    }
    const all = { taken: 0, left: 0, isWhole: false }
    for (let after = ''; !this.#isStopped; ) {
      const taken = await lost.takeOver({ node, after, homeOf, canFetch, now: clock.now() })
      all.taken += taken.taken
      all.left += taken.left
      if (taken.changes.length > 0) await onChanges(taken.changes)
      if (taken.last === null) return { ...all, isWhole: true }
      after = taken.last
    }
    return all
  }
}
