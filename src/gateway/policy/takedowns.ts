import type { Page, PageRequest } from '../../catalogue/page.ts'
import type { KnownTakedown, TakedownRows } from '../../catalogue/takedown-rows.ts'
import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import type { WithheldBlocks, Withholding } from '../../content/withholding.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import type { FileSystem } from '../../domain/file-system.ts'
import type { Logger } from '../../domain/logger.ts'
import { parseCid } from '../../ipld/cid.ts'
import { Denylist } from './denylist.ts'
import { readTakedowns, TakedownFile, unknownAfterDiskError } from './takedown-file.ts'
import {
  completeLines,
  keyOf,
  liftedLine,
  readEntries,
  type Takedown,
  takedownLines,
  textOfTakedowns,
} from './takedown-lines.ts'
import { canonical, readPath, type TakedownRequest, takedownOf } from './takedown-target.ts'

export type { Takedown, TakedownRequest }

export interface TakedownMeans {
  fileSystem: FileSystem
  clock: Clock
  logger: Logger
  withholding: Pick<Withholding, 'begin' | 'change' | 'settled'>
  /** The takedowns of a fleet. The local file is a copy. Null for a single node. */
  shared?: TakedownRows | null
}

/** Maximum time that a change waits for the DAG walks of affected roots. The gateway refuses unwalked roots. */
const WAIT_MS = 2_000

/**
 * The operator's takedowns, in a file in the compact denylist format. In a fleet, the file copies the shared takedowns,
 * which therefore apply even if other nodes are down.
 */
export class Takedowns {
  readonly #means: TakedownMeans
  readonly #file: TakedownFile
  readonly #isTorn: boolean
  #entries: Map<string, Takedown>
  /** Number of lines in the file that a later line has made superfluous. */
  #renewed: number
  /** Changed in place, and replaced when the file is rewritten. */
  denylist: Denylist
  #changing: Promise<unknown> = Promise.resolve()
  /** The next synchronisation, while it is queued and has not started. */
  #next: Promise<void> | null = null

  private constructor(path: string, means: TakedownMeans, text: string | null) {
    this.#means = means
    const { entries, renewed, isTorn } = readEntries(text ?? '\n')
    this.#entries = entries
    this.#renewed = renewed
    this.#isTorn = isTorn
    this.#file = new TakedownFile(path, means.fileSystem, text === null || isTorn ? null : Buffer.byteLength(text))
    this.denylist = new Denylist(completeLines(text ?? ''), { lifts: true })
  }

  /** Shared memory for other threads. See {@link TakedownFile.published}. */
  get published(): BigInt64Array {
    return this.#file.published
  }

  /**
   * Reads the file. If the file is missing, there are no takedowns.
   *
   * @param path its directory must contain a directory `tmp/` on the same file system
   * @throws HoldfastError `DATA_DIR_UNUSABLE` if the file is unreadable: without the check, no content may be served
   */
  static open(path: string, means: TakedownMeans): Takedowns {
    return new Takedowns(path, means, readTakedowns(path))
  }

  /** Returns takedowns, oldest first. */
  page({ after, limit }: PageRequest): Page<Takedown> {
    const entries = [...this.#entries.values()]
    const start = after === null ? 0 : entries.findIndex(entry => keyOf(entry) === after) + 1
    const rows = entries.slice(start, start + limit)
    const last = rows.at(-1)
    return { rows, next: last !== undefined && start + limit < entries.length ? keyOf(last) : null }
  }

  /**
   * Takes content down. Once the promise resolves, the takedown survives a power cut. A second takedown of the same
   * content replaces reason and status.
   *
   * @throws HoldfastError `INVALID_CID`, `VALIDATION`; in a fleet also `UNAVAILABLE`, or `OUTCOME_UNKNOWN` if the
   * request should be repeated
   */
  async add(request: TakedownRequest): Promise<Takedown> {
    const entry = takedownOf(request, this.#means.clock.now())
    await this.#means.shared?.put(entry)
    await this.#changeLocally(() => this.#put([entry]))
    await this.#followIfPossible()
    await this.#settle()
    this.#means.logger.warn({ ...entry }, 'content taken down')
    return entry
  }

  /**
   * Lifts a takedown.
   *
   * @throws HoldfastError `INVALID_CID`, `VALIDATION`, `NOT_FOUND`; in a fleet also `UNAVAILABLE`, or `OUTCOME_UNKNOWN`
   * if the request should be repeated
   */
  async remove(target: Pick<TakedownRequest, 'cid' | 'path'>): Promise<void> {
    const entry = { cid: canonical(target.cid), path: readPath(target.path ?? '') }
    const { shared, clock } = this.#means
    const isLifted = await shared?.lift(entry, clock.now())
    await this.#changeLocally(async () => {
      const known = this.#entries.get(keyOf(entry))
      const isKnown = isLifted ?? known !== undefined
      if (!isKnown) throw new HoldfastError('NOT_FOUND', `there is no takedown of ${keyOf(entry)}`)
      if (known !== undefined) await this.#lift([known])
    })
    await this.#followIfPossible()
    await this.#settle()
    this.#means.logger.warn(entry, 'takedown lifted')
  }

  /**
   * Shares the takedowns that only this node has, then applies all shared takedowns.
   *
   * @throws HoldfastError `UNAVAILABLE`
   */
  follow(): Promise<void> {
    const { shared } = this.#means
    if (!shared) return Promise.resolve()
    this.#next ??= this.#change(async () => {
      // The run may miss later changes of the shared takedowns, so later callers queue another run.
      this.#next = null
      let all = await shared.all()
      const known = new Set(all.map(keyOf))
      const unknown = [...this.#entries.values()].filter(entry => !known.has(keyOf(entry)))
      if (unknown.length > 0) {
        await shared.adopt(unknown)
        this.#means.logger.warn({ count: unknown.length }, 'takedowns of only this node now apply to all nodes')
        all = await shared.all()
      }
      await this.#become(all)
    })
    return this.#next
  }

  async #become(all: readonly KnownTakedown[]): Promise<void> {
    const entries = new Map<string, Takedown>()
    const changed: Takedown[] = []
    const lifted: Takedown[] = []
    for (const { liftedAt, ...entry } of all) {
      const known = this.#entries.get(keyOf(entry))
      if (liftedAt !== null) lifted.push(...(known === undefined ? [] : [known]))
      else if (entries.set(keyOf(entry), entry) && this.#isNew(entry)) changed.push(entry)
      if (turnSpent()) await nextTurn()
    }
    await this.#lift(lifted)
    await this.#put(changed)
    this.#entries = entries
  }

  /** Synchronises after a change, because another node may have changed the same takedown. Ignores errors. */
  async #followIfPossible(): Promise<void> {
    await this.follow().catch(() => undefined)
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

  /** Appends takedowns. Rewrites the file if appending is unsafe or most lines are outdated. */
  async #put(added: readonly Takedown[]): Promise<void> {
    const changed = added.filter(entry => this.#isNew(entry))
    const renewed = this.#renewed + changed.filter(entry => this.#entries.has(keyOf(entry))).length
    if (!this.#file.canAppend || renewed > this.#entries.size) {
      return this.#replace(new Map([...this.#entries, ...changed.map(entry => [keyOf(entry), entry] as const)]))
    }
    if (changed.length === 0) return
    const lines = changed.map(takedownLines).join('')
    await this.#append(lines)
    const known = this.denylist
    const before = { blocks: () => [], statusOfBlock: (multihash: Uint8Array) => known.statusOfBlock(multihash) }
    await this.#apply(before, new Denylist(lines), () => {
      known.append(lines)
      for (const entry of changed) this.#entries.set(keyOf(entry), entry)
      this.#renewed = renewed
    })
  }

  /**
   * Appends lines that lift takedowns. Rewrites the file if appending is unsafe, if most lines are outdated, or if
   * another takedown has the same multihash.
   */
  async #lift(lifted: readonly Takedown[]): Promise<void> {
    if (lifted.length === 0) return
    const outdated = this.#renewed + 2 * lifted.length // the takedown's line, and the lift's
    const isShared = lifted.some(({ cid, path }) => path === '' && this.denylist.isShared(parseCid(cid)))
    if (!this.#file.canAppend || isShared || outdated > this.#entries.size) {
      const left = new Map(this.#entries)
      for (const entry of lifted) left.delete(keyOf(entry))
      return this.#replace(left)
    }
    const lines = lifted.map(liftedLine).join('')
    await this.#append(lines)
    await this.#apply(new Denylist(lifted.map(takedownLines).join('')), new Denylist(''), () => {
      this.denylist.append(lines)
      for (const entry of lifted) this.#entries.delete(keyOf(entry))
      this.#renewed = outdated
    })
  }

  #isNew(entry: Takedown): boolean {
    const known = this.#entries.get(keyOf(entry))
    return known === undefined || takedownLines(known) !== takedownLines(entry)
  }

  async #replace(entries: Map<string, Takedown>): Promise<void> {
    const text = await textOfTakedowns(entries.values())
    await this.#file.replace(text)
    const denylist = new Denylist(text, { lifts: true })
    await this.#apply(this.denylist, denylist, () => {
      this.#entries = entries
      this.denylist = denylist
      this.#renewed = 0
    })
  }

  /** Appends lines to the file. If only some lines were written, rewrites the file without them. */
  async #append(lines: string): Promise<void> {
    try {
      await this.#file.append(lines)
    } catch (cause) {
      if (this.#file.canAppend) throw cause
      const undone = textOfTakedowns(this.#entries.values()).then(text => this.#file.replace(text))
      await undone.catch(() => {
        throw unknownAfterDiskError(cause)
      })
      this.#file.publish()
      throw cause
    }
  }

  async #apply(before: WithheldBlocks, after: WithheldBlocks, remember: () => void): Promise<void> {
    try {
      await this.#means.withholding.change(before, after)
    } catch (cause) {
      // The file already contains the change, which will apply after a restart.
      throw unknownAfterDiskError(cause)
    } finally {
      // The ledger changes first, because a new revision makes open responses check the ledger.
      remember()
      this.#file.publish()
    }
  }

  /** Applies the takedowns to the ledger. Await this method before the node serves content. */
  async start(): Promise<void> {
    if (this.#isTorn) await this.#change(() => this.#mend())
    await this.#means.withholding.begin(this.denylist)
  }

  /** Removes an incomplete last write from the file. */
  async #mend(): Promise<void> {
    this.#means.logger.warn({}, 'the end of takedowns.deny was cut off: removing it')
    await this.#replace(this.#entries).catch((err: unknown) => {
      this.#means.logger.error({ err }, 'cannot replace takedowns.deny')
    })
  }

  /** Waits up to {@link WAIT_MS} for walks of affected roots. Longer walks continue in the background. */
  async #settle(): Promise<void> {
    const { clock, withholding } = this.#means
    const late = Promise.withResolvers<void>()
    const cancel = clock.after(WAIT_MS, late.resolve)
    await Promise.race([withholding.settled(), late.promise])
    cancel()
  }
}
