import type { StatusChange } from '../catalogue/fetches.ts'
import type { Offer, OfferPlace, Offers } from '../catalogue/offers.ts'
import type { CataloguePast } from '../catalogue/shared-catalogue.ts'
import type { StagingBackend } from '../clusters/staging-backend.ts'
import { Semaphore } from '../concurrency/capacity/semaphore.ts'
import { nextTurn, turnSpent } from '../concurrency/turns.ts'
import type { BlockSource } from '../content/block-source.ts'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../domain/errors.ts'
import type { Logger } from '../domain/logger.ts'
import { otherVisibility } from '../domain/visibility.ts'
import { takeDag } from './taken-dag.ts'

export interface OfferingParts {
  offers: Offers
  past: Pick<CataloguePast, 'learn'>
  /** Returns the backend id of each cluster of this node. */
  homes: () => ReadonlyMap<string, number>
  /** Returns the backend for the content of a cluster; null if the directory of the cluster is absent. */
  homeOf: (clusterId: string) => number | null
  backendOf: (backendId: number) => StagingBackend
  /** Returns a reader of another node, or null for a node without an address. */
  readerOf: (nodeId: string) => BlockSource | null
  onChanges: (changes: StatusChange[]) => Promise<void>
  /** Called when this node has offered all of its content. */
  offered: () => Promise<void>
  /** Called when nobody may read some content any more. */
  closed: () => void
  clock: Clock
  logger: Logger
}

const BATCH = 64
/** Offers that one statement reads. */
const PAGE = 500
/** Records whose content is taken concurrently. */
const AT_ONCE = 8
/** After a run that took nothing, offers rest for this many times its duration. */
const REST = 4

/**
 * After a set-back: offers the content of this node to the other nodes, and takes what they offer. A kill loses at most
 * one step.
 */
export class Offering {
  readonly #parts: OfferingParts
  /** Records whose content could not be taken, so that each is logged once. */
  readonly #refused = new Set<string>()
  /** The last record for which a node did not answer in the last run, by the name of the node. */
  #unanswered: ReadonlyMap<string, string> = new Map()
  readonly #taking = new Semaphore(AT_ONCE)
  #restUntil = 0

  constructor(parts: OfferingParts) {
    this.#parts = parts
  }

  async run(signal: AbortSignal): Promise<void> {
    const setBack = await this.#parts.offers.pending()
    if (setBack !== null) this.#parts.past.learn(setBack)
    await this.#compare(signal)
    if (setBack !== null) await this.#offer(signal)
    const { offers, clock } = this.#parts
    const began = clock.now()
    if (began < this.#restUntil) return
    await offers.assign()
    if (!(await this.#take(signal))) this.#restUntil = clock.now() + (clock.now() - began) * REST
  }

  /** Compares the owners of public roots, until strangers may read all of them again. */
  async #compare(signal: AbortSignal): Promise<void> {
    while (await this.#parts.offers.compare()) {
      this.#parts.closed()
      signal.throwIfAborted()
      if (turnSpent()) await nextTurn(signal)
    }
  }

  async #offer(signal: AbortSignal): Promise<void> {
    const { offers, past, homes, onChanges, offered, closed, clock, logger } = this.#parts
    for (;;) {
      const setBack = await offers.pending()
      if (setBack === null) return
      past.learn(setBack)
      const step = await offers.walk({ setBack, homes: homes(), limit: BATCH, now: clock.now() })
      const { isDone, changes, disputed = [] } = step
      await onChanges(changes)
      if (disputed.length > 0) closed()
      for (const { record, cid, catalogue } of disputed) {
        const sides = { database: catalogue, node: otherVisibility(catalogue) }
        logger.warn(
          { record, cid, ...sides },
          'a record is private until its account decides: database and node disagree',
        )
      }
      if (isDone) {
        await offered()
        logger.info({ setBack: setBack.id }, 'offered all content of this node')
      }
      signal.throwIfAborted()
      if (turnSpent()) await nextTurn(signal)
    }
  }

  /**
   * Takes the offers. If a node does not answer, takes only those of other nodes. The next run begins behind the
   * unanswered offers: perhaps only one cluster of the node is away. Returns whether any was taken.
   */
  async #take(signal: AbortSignal): Promise<boolean> {
    const { offers, homes } = this.#parts
    const unanswered = new Map<string, string>()
    let isAny = false
    for (let after: OfferPlace | null = null; ; ) {
      const page = await offers.open({ homes: homes(), after, limit: PAGE })
      signal.throwIfAborted()
      // The offers of one record are taken in turn: the first may end the others.
      const records = [...Map.groupBy(page.offers, ({ recordId }) => recordId).values()]
      const ended = records.map(some => this.#taking.hold(1, () => this.#takeAll(some, unanswered, signal)))
      for (const outcome of await Promise.allSettled(ended)) {
        if (outcome.status === 'rejected') throw outcome.reason
        isAny ||= outcome.value
      }
      after = page.last
      if (after === null) break
    }
    this.#unanswered = unanswered
    return isAny
  }

  /** Takes the offers of one record. Returns whether any was taken. */
  async #takeAll(some: readonly Offer[], unanswered: Map<string, string>, signal: AbortSignal): Promise<boolean> {
    let isAny = false
    for (const offer of some) {
      const { recordId, node } = offer
      if (unanswered.has(node) || recordId <= (this.#unanswered.get(node) ?? '')) continue
      try {
        isAny = (await this.#takeOne(offer, signal)) || isAny
      } catch (error) {
        if (!isHoldfastError(error, 'UNAVAILABLE')) this.#refuse(offer, error, signal)
        else if (recordId > (unanswered.get(node) ?? '')) unanswered.set(node, recordId)
      }
    }
    return isAny
  }

  async #takeOne(offer: Offer, signal: AbortSignal): Promise<boolean> {
    const { offers, homeOf, onChanges, clock } = this.#parts
    signal.throwIfAborted()
    const backendId = offer.backendId ?? homeOf(offer.clusterId)
    if (backendId === null) return false
    const isHere = offer.dag === null || offers.has(backendId, offer.dag)
    const brought = isHere || offer.dag === null ? null : await this.#bring(offer.dag, { ...offer, backendId, signal })
    try {
      const { changes, isEnded } = await offers.take(offer, { backendId, brought, now: clock.now() })
      await onChanges(changes)
      return isEnded
    } finally {
      // A complete root is not abandoned.
      await brought?.staged.abandon()
    }
  }

  /** Leaves an offer open, so that nothing is released, and goes on with the others. */
  #refuse({ recordId, nodeId }: Offer, error: unknown, signal: AbortSignal): void {
    if (signal.aborted || !isHoldfastError(error) || error.code === 'STORAGE_FULL') throw error
    if (this.#refused.has(recordId)) return
    this.#refused.add(recordId)
    const fields = { record: recordId, node: nodeId, err: error }
    this.#parts.logger.error(fields, 'offered content could not be taken; it is tried again')
  }

  async #bring(
    dag: NonNullable<Offer['dag']>,
    { nodeId, backendId, signal }: { nodeId: string | null; backendId: number; signal: AbortSignal },
  ) {
    const source = nodeId === null ? null : this.#parts.readerOf(nodeId)
    if (source === null) throw new HoldfastError('UNAVAILABLE', 'the node that offers the content has no address')
    return takeDag(dag, this.#parts.backendOf(backendId), source, signal)
  }
}

/** @throws HoldfastError `CONFLICT` if a node has content to offer */
export async function checkOffered(offers: Pick<Offers, 'waitsFor'> | null): Promise<void> {
  const nodes = (await offers?.waitsFor()) ?? []
  if (nodes.length === 0) return
  const remedy = 'start every node, wait until each has offered its content, then repeat'
  const message = `a node returned or the database was set back, and ${nodes.join(' and ')} may have content: ${remedy}`
  throw new HoldfastError('CONFLICT', message)
}
