import { readFileSync } from 'node:fs'
import type { Page, PageRequest } from '../../catalogue/page.ts'
import type { KnownTakedown, TakedownRows } from '../../catalogue/takedown-rows.ts'
import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import type { WithheldBlocks, Withholding } from '../../content/withholding.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import { type FileSystem, fileErrorCode } from '../../domain/file-system.ts'
import type { Logger } from '../../domain/logger.ts'
import { type BlockedStatus, Denylist } from './denylist.ts'
import { TakedownFile } from './takedown-file.ts'
import { completeLines, keyOf, readEntries, type Takedown, takedownLines, textOfTakedowns } from './takedown-lines.ts'
import { canonical, readPath } from './takedown-target.ts'

export type { Takedown }

/** Input of a takedown. */
export interface TakedownRequest {
  /** Any CID version and multibase. */
  cid: string
  /** Decoded path below the CID. Default: the block itself, and everything below it. */
  path?: string | undefined
  /** 1 to 1,000 printable characters. */
  reason: string
  /** Default 410. */
  status?: BlockedStatus | undefined
}

export interface TakedownMeans {
  fileSystem: FileSystem
  clock: Clock
  logger: Logger
  /** Applies takedowns to the roots in the ledger. */
  withholding: Pick<Withholding, 'begin' | 'change' | 'settled'>
  /** The takedowns of all nodes, of which the file is a copy; null for a single node. */
  shared?: TakedownRows | null
}

const LONGEST_REASON = 1000
/**
 * Longest wait of a change for the walks of the affected roots. The gateway refuses these roots until their walk ends.
 */
const WAIT_MS = 2_000

/**
 * The owner's takedowns, in a file in the compact denylist format. In a fleet, the file is a copy of the shared
 * takedowns, so they apply even if the other nodes are down.
 */
export class Takedowns {
  readonly #means: TakedownMeans
  readonly #file: TakedownFile
  readonly #isTorn: boolean
  #entries: Map<string, Takedown>
  /** Lines of the file that a later line has replaced. */
  #renewed: number
  /** The current list. Added takedowns change it in place; a lifted one creates a new object. */
  denylist: Denylist
  #changing: Promise<unknown> = Promise.resolve()
  /** The next follow, if it has not started yet. */
  #next: Promise<void> | null = null

  private constructor(path: string, means: TakedownMeans, text: string | null) {
    this.#means = means
    const { entries, renewed, isTorn } = readEntries(text ?? '\n')
    this.#entries = entries
    this.#renewed = renewed
    this.#isTorn = isTorn
    this.#file = new TakedownFile(path, means.fileSystem, text === null || isTorn ? null : Buffer.byteLength(text))
    this.denylist = new Denylist(completeLines(text ?? ''))
  }

  /** In shared memory: how much of the file applies. See {@link TakedownFile.published}. */
  get published(): BigInt64Array {
    return this.#file.published
  }

  /**
   * Reads the file. A missing file is empty.
   *
   * @param path next to a directory `tmp/` on the same file system
   * @throws HoldfastError `DATA_DIR_UNUSABLE` if it is unreadable, because nothing may be served unchecked
   */
  static open(path: string, means: TakedownMeans): Takedowns {
    try {
      return new Takedowns(path, means, readFileSync(path, 'utf8'))
    } catch (cause) {
      if (fileErrorCode(cause) === 'ENOENT') return new Takedowns(path, means, null)
      throw new HoldfastError('DATA_DIR_UNUSABLE', `${path} cannot be read`, { cause })
    }
  }

  /** Returns a page of takedowns, oldest first. */
  page({ after, limit }: PageRequest): Page<Takedown> {
    const entries = [...this.#entries.values()]
    const start = after === null ? 0 : entries.findIndex(entry => keyOf(entry) === after) + 1
    const rows = entries.slice(start, start + limit)
    const last = rows.at(-1)
    return { rows, next: last !== undefined && start + limit < entries.length ? keyOf(last) : null }
  }

  /**
   * Takes content down. When this resolves, the gateway refuses it, and still does after a power cut. A repeated
   * takedown replaces reason and status.
   *
   * @throws HoldfastError `INVALID_CID`, `VALIDATION`; in a fleet also `UNAVAILABLE`, and `OUTCOME_UNKNOWN`, after
   * which the request may be repeated
   */
  async add({ cid, path = '', reason, status = 410 }: TakedownRequest): Promise<Takedown> {
    const words = reason.trim()
    if (words === '' || words.length > LONGEST_REASON || /\p{Cc}/u.test(words)) {
      throw new HoldfastError('VALIDATION', `reason must be 1 to ${LONGEST_REASON} printable characters`)
    }
    const at = this.#means.clock.now()
    const entry: Takedown = { cid: canonical(cid), path: readPath(path), status, reason: words, at }
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
   * @throws HoldfastError `INVALID_CID`, `VALIDATION`; `NOT_FOUND` if there is no takedown of that CID and path; in a
   * fleet also `UNAVAILABLE`, and `OUTCOME_UNKNOWN` as in {@link add}
   */
  async remove(target: Pick<TakedownRequest, 'cid' | 'path'>): Promise<void> {
    const entry = { cid: canonical(target.cid), path: readPath(target.path ?? '') }
    const { shared, clock } = this.#means
    const isLifted = await shared?.lift(entry, clock.now())
    await this.#changeLocally(async () => {
      const entries = new Map(this.#entries)
      const wasLocal = entries.delete(keyOf(entry))
      if (!(isLifted ?? wasLocal)) throw new HoldfastError('NOT_FOUND', `there is no takedown of ${keyOf(entry)}`)
      if (wasLocal) await this.#replace(entries)
    })
    await this.#followIfPossible()
    await this.#settle()
    this.#means.logger.warn(entry, 'takedown lifted')
  }

  /**
   * Synchronises with the shared takedowns: copies them to this node, and adds to them those that only this node has.
   * Afterwards they apply as after {@link add}.
   *
   * @throws HoldfastError `UNAVAILABLE`
   */
  follow(): Promise<void> {
    const { shared } = this.#means
    if (!shared) return Promise.resolve()
    this.#next ??= this.#change(async () => {
      // Later callers may need a newer state than this read returns.
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

  /** Applies the shared takedowns, in their order. */
  async #become(all: readonly KnownTakedown[]): Promise<void> {
    const entries = new Map<string, Takedown>()
    const changed: Takedown[] = []
    let isLifted = false
    for (const { liftedAt, ...entry } of all) {
      if (liftedAt !== null) isLifted ||= this.#entries.has(keyOf(entry))
      else if (entries.set(keyOf(entry), entry) && this.#isNew(entry)) changed.push(entry)
      if (turnSpent()) await nextTurn()
    }
    if (isLifted) return this.#replace(entries)
    await this.#put(changed)
    this.#entries = entries
  }

  /** Synchronises, because another node may have changed the same takedown. Ignores errors. */
  async #followIfPossible(): Promise<void> {
    await this.follow().catch(() => undefined)
  }

  /** Changes the file. In a fleet the shared change stands even if the file fails, so the outcome is unknown. */
  async #changeLocally(change: () => Promise<void>): Promise<void> {
    try {
      await this.#change(change)
    } catch (cause) {
      if (!this.#means.shared || isHoldfastError(cause, 'NOT_FOUND')) throw cause
      throw outcomeUnknown(cause)
    }
  }

  /** Makes one change at a time: first the file, then the ledger, then the list in memory. */
  #change(change: () => Promise<void>): Promise<void> {
    const changed = this.#changing.then(change)
    this.#changing = changed.catch(() => undefined)
    return changed
  }

  /** Adds and renews takedowns. The cost does not depend on the number of the others. */
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

  #isNew(entry: Takedown): boolean {
    const known = this.#entries.get(keyOf(entry))
    return known === undefined || takedownLines(known) !== takedownLines(entry)
  }

  /** Replaces all takedowns. */
  async #replace(entries: Map<string, Takedown>): Promise<void> {
    const text = await textOfTakedowns(entries.values())
    await this.#file.replace(text)
    const denylist = new Denylist(text)
    await this.#apply(this.denylist, denylist, () => {
      this.#entries = entries
      this.denylist = denylist
      this.#renewed = 0
    })
  }

  /** Appends to the file. A failed write of a part is undone. */
  async #append(lines: string): Promise<void> {
    try {
      await this.#file.append(lines)
    } catch (cause) {
      if (this.#file.canAppend) throw cause
      const undone = textOfTakedowns(this.#entries.values()).then(text => this.#file.replace(text))
      await undone.catch(() => {
        throw outcomeUnknown(cause)
      })
      this.#file.publish()
      throw cause
    }
  }

  async #apply(before: WithheldBlocks, after: WithheldBlocks, remember: () => void): Promise<void> {
    try {
      await this.#means.withholding.change(before, after)
    } catch (cause) {
      // The file contains the change.
      throw outcomeUnknown(cause)
    } finally {
      // An open answer rechecks its rules at each revision, and must find the new state of the ledger.
      remember()
      this.#file.publish()
    }
  }

  /** Applies the takedowns to the ledger. Must finish before the node serves content. */
  async start(): Promise<void> {
    if (this.#isTorn) await this.#change(() => this.#mend())
    await this.#means.withholding.begin(this.denylist)
  }

  /** Removes a torn end from the file, if the disk has room. */
  async #mend(): Promise<void> {
    this.#means.logger.warn({}, 'the end of takedowns.deny was cut off: removing it')
    await this.#replace(this.#entries).catch((err: unknown) => {
      this.#means.logger.error({ err }, 'cannot replace takedowns.deny')
    })
  }

  /** Waits for the walks of the affected roots. Long walks continue in the background. */
  async #settle(): Promise<void> {
    const { clock, withholding } = this.#means
    const late = Promise.withResolvers<void>()
    const cancel = clock.after(WAIT_MS, late.resolve)
    await Promise.race([withholding.settled(), late.promise])
    cancel()
  }
}

function outcomeUnknown(cause: unknown): unknown {
  if (isHoldfastError(cause, 'OUTCOME_UNKNOWN')) return cause
  const message = 'the change is recorded, but the disk of this node failed: repeat the request'
  return new HoldfastError('OUTCOME_UNKNOWN', message, { cause })
}
