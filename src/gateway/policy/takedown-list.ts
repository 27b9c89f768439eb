import type { Page, PageRequest } from '../../catalogue/page.ts'
import type { KnownTakedown } from '../../catalogue/takedown-rows.ts'
import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import type { RevisionLog } from '../../content/revision-log.ts'
import type { WithheldBlocks, Withholding } from '../../content/withholding.ts'
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

export interface ListMeans {
  fileSystem: FileSystem
  logger: Logger
  withholding: Pick<Withholding, 'begin' | 'change'>
  revisions: Pick<RevisionLog, 'publish'>
}

/** The takedowns of one node, in a file in the compact denylist format. The caller makes one change at a time. */
export class NodeTakedowns {
  readonly #means: ListMeans
  readonly #file: TakedownFile
  readonly #isTorn: boolean
  /** True if the ledger may lack changes that the list has. */
  #isLedgerBehind = false
  #entries: Map<string, Takedown>
  /** Number of lines in the file that a later line has made superfluous. */
  #renewed: number
  /** Changed in place, and replaced when the file is rewritten. */
  denylist: Denylist

  private constructor(path: string, means: ListMeans, text: string | null) {
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
  static open(path: string, means: ListMeans): NodeTakedowns {
    return new NodeTakedowns(path, means, readTakedowns(path))
  }

  /** Returns takedowns, oldest first. */
  page({ after, limit }: PageRequest): Page<Takedown> {
    const entries = [...this.#entries.values()]
    const start = after === null ? 0 : entries.findIndex(entry => keyOf(entry) === after) + 1
    const rows = entries.slice(start, start + limit)
    const last = rows.at(-1)
    return { rows, next: last !== undefined && start + limit < entries.length ? keyOf(last) : null }
  }

  get(key: string): Takedown | undefined {
    return this.#entries.get(key)
  }

  values(): IterableIterator<Takedown> {
    return this.#entries.values()
  }

  /** Applies the takedowns of a fleet. */
  async become(all: readonly KnownTakedown[]): Promise<void> {
    if (this.#isLedgerBehind) await this.#means.withholding.begin(this.denylist)
    this.#isLedgerBehind = false
    const entries = new Map<string, Takedown>()
    const changed: Takedown[] = []
    const lifted: Takedown[] = []
    for (const { liftedAt, ...entry } of all) {
      const known = this.#entries.get(keyOf(entry))
      if (liftedAt !== null) lifted.push(...(known === undefined ? [] : [known]))
      else if (entries.set(keyOf(entry), entry) && this.#isNew(entry)) changed.push(entry)
      if (turnSpent()) await nextTurn()
    }
    await this.lift(lifted)
    await this.put(changed)
    this.#entries = entries
  }

  /** Appends takedowns. Rewrites the file if appending is unsafe or most lines are outdated. */
  async put(added: readonly Takedown[]): Promise<void> {
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
  async lift(lifted: readonly Takedown[]): Promise<void> {
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
      // The file already contains the change, which the next synchronisation or start applies.
      this.#isLedgerBehind = true
      throw unknownAfterDiskError(cause)
    } finally {
      // The ledger changes first, because a new revision makes open responses check the ledger.
      remember()
      this.#file.publish()
      this.#means.revisions.publish()
    }
  }

  /** Applies the takedowns to the ledger. Await this method before the node serves content. */
  async start(): Promise<void> {
    if (this.#isTorn) await this.#mend()
    await this.#means.withholding.begin(this.denylist)
  }

  /** Removes an incomplete last write from the file. */
  async #mend(): Promise<void> {
    this.#means.logger.warn({}, 'the end of takedowns.deny was cut off: removing it')
    await this.#replace(this.#entries).catch((err: unknown) => {
      this.#means.logger.error({ err }, 'cannot replace takedowns.deny')
    })
  }
}
