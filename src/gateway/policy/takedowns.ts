import type { Page, PageRequest } from '../../catalogue/page.ts'
import type { TakedownRows } from '../../catalogue/takedown-rows.ts'
import type { RevisionLog } from '../../content/revision-log.ts'
import type { Withholding } from '../../content/withholding.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import type { PendingNode } from '../../domain/pending-nodes.ts'
import { unknownAfterDiskError } from './takedown-file.ts'
import { keyOf, type Takedown } from './takedown-lines.ts'
import { type ListMeans, NodeTakedowns } from './takedown-list.ts'
import { canonical, readPath, type TakedownRequest, takedownOf } from './takedown-target.ts'

export type { Takedown, TakedownRequest }

export interface TakedownMeans extends ListMeans {
  clock: Clock
  withholding: Pick<Withholding, 'begin' | 'change' | 'settled'>
  revisions: Pick<RevisionLog, 'publish' | 'settled'>
  /** The takedowns of a fleet. The local file is a copy. Null for a single node. */
  shared?: TakedownRows | null
}

/** Maximum time that a change waits for the DAG walks of affected roots. The gateway refuses unwalked roots. */
const WAIT_MS = 2_000

/**
 * The operator's takedowns. In a fleet, the file of this node copies the shared takedowns, which therefore apply even
 * if other nodes are down.
 */
export class Takedowns {
  readonly #means: TakedownMeans
  /** The takedowns of this node. */
  readonly list: NodeTakedowns
  #changing: Promise<unknown> = Promise.resolve()

  private constructor(list: NodeTakedowns, means: TakedownMeans) {
    this.list = list
    this.#means = means
  }

  /** Opens the takedowns as {@link NodeTakedowns.open} does. */
  static open(path: string, means: TakedownMeans): Takedowns {
    return new Takedowns(NodeTakedowns.open(path, means), means)
  }

  /** Returns takedowns, oldest first. */
  page(request: PageRequest): Page<Takedown> {
    return this.list.page(request)
  }

  /**
   * Takes content down. Once the promise resolves, the takedown survives a power cut. A second takedown of the same
   * content replaces reason and status.
   *
   * @returns `pending` names the nodes and threads that may still serve the content
   * @throws HoldfastError `INVALID_CID`, `VALIDATION`; in a fleet also `UNAVAILABLE`, or `OUTCOME_UNKNOWN` if the
   * request should be repeated
   */
  async add(request: TakedownRequest): Promise<Takedown & { pending: PendingNode[] }> {
    const entry = takedownOf(request, this.#means.clock.now())
    await this.#means.shared?.put(entry)
    await this.#changeLocally(() => this.list.put([entry]))
    const pending = await this.#settle()
    this.#means.logger.warn({ ...entry }, 'content taken down')
    return { ...entry, pending }
  }

  /**
   * Lifts a takedown.
   *
   * @returns `pending` names the nodes and threads that may still refuse the content
   * @throws HoldfastError `INVALID_CID`, `VALIDATION`, `NOT_FOUND`; in a fleet also `UNAVAILABLE`, or `OUTCOME_UNKNOWN`
   * if the request should be repeated
   */
  async remove(target: Pick<TakedownRequest, 'cid' | 'path'>): Promise<{ pending: PendingNode[] }> {
    const entry = { cid: canonical(target.cid), path: readPath(target.path ?? '') }
    const { shared, clock } = this.#means
    const isLifted = await shared?.lift(entry, clock.now())
    await this.#changeLocally(async () => {
      const known = this.list.get(keyOf(entry))
      const isKnown = isLifted ?? known !== undefined
      if (!isKnown) throw new HoldfastError('NOT_FOUND', `there is no takedown of ${keyOf(entry)}`)
      if (known !== undefined) await this.list.lift([known])
    })
    const pending = await this.#settle()
    this.#means.logger.warn(entry, 'takedown lifted')
    return { pending }
  }

  /**
   * Shares the takedowns that only this node has, then applies all shared takedowns.
   *
   * @throws HoldfastError `UNAVAILABLE`
   */
  follow(): Promise<void> {
    const { shared } = this.#means
    if (!shared) return Promise.resolve()
    return this.#change(async () => {
      let all = await shared.all()
      const known = new Set(all.map(keyOf))
      const unknown = [...this.list.values()].filter(entry => !known.has(keyOf(entry)))
      if (unknown.length > 0) {
        await shared.adopt(unknown)
        this.#means.logger.warn({ count: unknown.length }, 'takedowns of only this node now apply to all nodes')
        all = await shared.all()
      }
      await this.list.become(all)
    })
  }

  /** Applies the takedowns to the ledger. Await this method before the node serves content. */
  async start(): Promise<void> {
    await this.#change(() => this.list.start())
  }

  /** Changes this node's takedowns. Errors in a fleet become `OUTCOME_UNKNOWN`, because other nodes have the change. */
  async #changeLocally(change: () => Promise<void>): Promise<void> {
    try {
      await this.#change(change)
    } catch (cause) {
      if (!this.#means.shared || isHoldfastError(cause, 'NOT_FOUND')) throw cause
      throw unknownAfterDiskError(cause)
    }
  }

  /** Runs changes one at a time. */
  #change(change: () => Promise<void>): Promise<void> {
    const changed = this.#changing.then(change)
    this.#changing = changed.catch(() => undefined)
    return changed
  }

  /**
   * Waits up to {@link WAIT_MS} for walks of affected roots, which continue in the background, and for the confirmations
   * of all nodes and threads.
   */
  async #settle(): Promise<PendingNode[]> {
    const { clock, withholding, revisions } = this.#means
    const late = Promise.withResolvers<void>()
    const cancel = clock.after(WAIT_MS, late.resolve)
    const walked = Promise.race([withholding.settled(), late.promise])
    const [pending] = await Promise.all([revisions.settled(), walked])
    cancel()
    return pending
  }
}
