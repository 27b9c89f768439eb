import type { StatusChange } from '../catalogue/fetches.ts'
import type { Offer, Offers } from '../catalogue/offers.ts'
import type { CataloguePast } from '../catalogue/shared-catalogue.ts'
import type { StagingBackend } from '../clusters/staging-backend.ts'
import { nextTurn, turnSpent } from '../concurrency/turns.ts'
import type { BlockSource } from '../content/block-source.ts'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../domain/errors.ts'
import type { Logger } from '../domain/logger.ts'
import { takeDag } from './taken-dag.ts'

export interface OfferingParts {
  offers: Offers
  past: Pick<CataloguePast, 'learn'>
  /** Returns the backend id of each cluster of this node. */
  homes: () => ReadonlyMap<string, number>
  backendOf: (backendId: number) => StagingBackend
  /** Returns a reader of another node, or null for a node without an address. */
  readerOf: (nodeId: string) => BlockSource | null
  onChanges: (changes: StatusChange[]) => Promise<void>
  clock: Clock
  logger: Logger
}

const BATCH = 64

/**
 * After the database was set back: offers the content of this node to the other nodes, and takes what they offer. A kill
 * loses at most one step.
 */
export class Offering {
  readonly #parts: OfferingParts
  readonly #ending = new AbortController()
  #isWanted = false
  #running: Promise<void> | null = null

  constructor(parts: OfferingParts) {
    this.#parts = parts
  }

  /** Starts the work if there is any. A call during a run schedules one more run. */
  wake(): void {
    this.#isWanted = true
    this.#running ??= this.#run().finally(() => {
      this.#running = null
    })
  }

  async stop(): Promise<void> {
    this.#ending.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#ending
    while (this.#isWanted && !signal.aborted) {
      this.#isWanted = false
      try {
        await this.#offer()
        await this.#take()
      } catch (err) {
        if (signal.aborted || isHoldfastError(err, 'UNAVAILABLE')) continue
        this.#parts.logger.warn({ err }, 'content for a database that was set back could not be offered or taken')
      }
    }
  }

  async #offer(): Promise<void> {
    const { offers, past, homes, onChanges, clock, logger } = this.#parts
    const { signal } = this.#ending
    for (;;) {
      const setBack = await offers.pending()
      if (setBack === null) return
      past.learn(setBack)
      const { isDone, changes } = await offers.walk({ setBack, homes: homes(), limit: BATCH, now: clock.now() })
      await onChanges(changes)
      if (isDone) logger.info({ setBack: setBack.id }, 'offered all content of this node')
      signal.throwIfAborted()
      if (turnSpent()) await nextTurn(signal)
    }
  }

  async #take(): Promise<void> {
    for (const [clusterId, backendId] of this.#parts.homes()) {
      for (let after = ''; ; ) {
        const open = await this.#parts.offers.open({ clusterId, after, limit: BATCH })
        for (const offer of open) {
          await this.#takeOne(offer, backendId)
          after = offer.recordId
        }
        if (open.length < BATCH) break
      }
    }
  }

  async #takeOne(offer: Offer, backendId: number): Promise<void> {
    const { offers, onChanges, clock } = this.#parts
    const { signal } = this.#ending
    signal.throwIfAborted()
    const isHere = offer.dag === null || offers.has(backendId, offer.dag)
    const brought = isHere || offer.dag === null ? null : await this.#bring(offer.dag, offer.nodeId, backendId)
    try {
      await onChanges(await offers.take(offer, { backendId, brought, now: clock.now() }))
    } finally {
      // A complete root is not abandoned.
      await brought?.staged.abandon()
    }
  }

  async #bring(dag: NonNullable<Offer['dag']>, nodeId: string | null, backendId: number) {
    const source = nodeId === null ? null : this.#parts.readerOf(nodeId)
    if (source === null) throw new HoldfastError('UNAVAILABLE', 'the node that offers the content has no address')
    return takeDag(dag, this.#parts.backendOf(backendId), source, this.#ending.signal)
  }
}

/** @throws HoldfastError `CONFLICT` if the database was set back and a node has not offered its content yet */
export async function checkOffered(offers: Pick<Offers, 'waitsFor'> | null): Promise<void> {
  const nodes = (await offers?.waitsFor()) ?? []
  if (nodes.length === 0) return
  const remedy = 'start every node, wait until each has offered its content, then repeat'
  const message = `the database was set back, and ${nodes.join(' and ')} may have content: ${remedy}`
  throw new HoldfastError('CONFLICT', message)
}
