import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { CID } from 'multiformats/cid'
import type { Page, PageRequest } from '../../catalogue/page.ts'
import type { TakedownRows } from '../../catalogue/takedown-rows.ts'
import type { Withholding } from '../../content/withholding.ts'
import { replaceFile } from '../../disk/replace-file.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import { type FileSystem, fileErrorCode } from '../../domain/file-system.ts'
import type { Logger } from '../../domain/logger.ts'
import { parseCid } from '../../ipld/cid.ts'
import { type BlockedStatus, Denylist } from './denylist.ts'

/** Content that the owner has taken down, so the gateway refuses it. */
export interface Takedown {
  cid: string
  /** Decoded path below the CID, without outer slashes. Empty: the block itself, and everything below it. */
  path: string
  status: BlockedStatus
  reason: string
  /** Milliseconds since the epoch. */
  at: number
}

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

const LONGEST_PATH = 4096
const LONGEST_REASON = 1000
/**
 * Longest wait of a change for the walks of the affected roots. The gateway refuses these roots until their walk ends.
 */
const WAIT_MS = 2_000
const HEADER = 'version: 1\nname: takedowns\n---\n'

/**
 * The owner's takedowns, in a file in the compact denylist format. In a fleet, the file is a copy of the shared
 * takedowns, so they apply even if the other nodes are down.
 */
export class Takedowns {
  readonly #path: string
  readonly #means: TakedownMeans
  #entries: ReadonlyMap<string, Takedown>
  /** The current list. Each change creates a new object. */
  denylist: Denylist
  /** Number of changes, in shared memory. Other threads compare it to know when to reread the file. */
  readonly revision = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  #changing: Promise<unknown> = Promise.resolve()
  /** The next follow, if it has not started yet. */
  #next: Promise<void> | null = null

  private constructor(path: string, means: TakedownMeans, text: string) {
    this.#path = path
    this.#means = means
    this.#entries = new Map(
      text
        .split('\n')
        .flatMap(line => readEntry(line) ?? [])
        .map(entry => [keyOf(entry), entry]),
    )
    this.denylist = new Denylist(text)
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
      if (fileErrorCode(cause) === 'ENOENT') return new Takedowns(path, means, '')
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
    await this.#changeLocally(async entries => entries.set(keyOf(entry), entry))
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
    await this.#changeLocally(async entries => {
      const wasLocal = entries.delete(keyOf(entry))
      if (isLifted ?? wasLocal) return
      throw new HoldfastError('NOT_FOUND', `there is no takedown of ${keyOf(entry)}`)
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
    this.#next ??= this.#change(async entries => {
      // Later callers may need a newer state than this read returns.
      this.#next = null
      let all = await shared.all()
      const known = new Set(all.map(keyOf))
      const unknown = [...entries.values()].filter(entry => !known.has(keyOf(entry)))
      if (unknown.length > 0) {
        await shared.adopt(unknown)
        this.#means.logger.warn({ count: unknown.length }, 'takedowns of only this node now apply to all nodes')
        all = await shared.all()
      }
      entries.clear()
      for (const { liftedAt, ...entry } of all) if (liftedAt === null) entries.set(keyOf(entry), entry)
    })
    return this.#next
  }

  /** Synchronises, because another node may have changed the same takedown. Ignores errors. */
  async #followIfPossible(): Promise<void> {
    await this.follow().catch(() => undefined)
  }

  /** Changes the file. In a fleet the shared change stands even if the file fails, so the outcome is unknown. */
  async #changeLocally(change: (entries: Map<string, Takedown>) => Promise<unknown>): Promise<void> {
    try {
      await this.#change(change)
    } catch (cause) {
      if (!this.#means.shared || isHoldfastError(cause, 'NOT_FOUND')) throw cause
      throw outcomeUnknown(cause)
    }
  }

  /** Makes one change at a time: first the file, then the ledger, then the list in memory. */
  #change(change: (entries: Map<string, Takedown>) => Promise<unknown>): Promise<void> {
    const changed = this.#changing.then(async () => {
      const entries = new Map(this.#entries)
      await change(entries)
      const text = textOf(entries)
      if (text === textOf(this.#entries)) return
      const temporary = join(dirname(this.#path), 'tmp', `takedowns-${randomUUID()}`)
      await replaceFile(this.#path, text, { files: this.#means.fileSystem, temporary })
      const denylist = new Denylist(text)
      try {
        await this.#means.withholding.change(this.denylist, denylist)
      } catch (cause) {
        // The file contains the change.
        throw outcomeUnknown(cause)
      } finally {
        // An open answer rechecks its rules at each revision, and must find the new state of the ledger.
        this.#entries = entries
        this.denylist = denylist
        Atomics.add(this.revision, 0, 1)
      }
    })
    this.#changing = changed.catch(() => undefined)
    return changed
  }

  /** Applies the takedowns to the ledger. Must finish before the node serves content. */
  start(): Promise<void> {
    return this.#means.withholding.begin(this.denylist)
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

function canonical(text: string): string {
  const { code, multihash } = parseCid(text)
  return CID.createV1(code, multihash).toString()
}

function readPath(text: string): string {
  const path = text
    .split('/')
    .filter(name => name !== '')
    .join('/')
  if (path.length > LONGEST_PATH)
    throw new HoldfastError('VALIDATION', `path is longer than ${LONGEST_PATH} characters`)
  if (path.endsWith('*')) throw new HoldfastError('VALIDATION', 'path cannot end with an asterisk')
  if (!path.isWellFormed()) throw new HoldfastError('VALIDATION', 'path is not well-formed text')
  return path
}

function keyOf({ cid, path }: Pick<Takedown, 'cid' | 'path'>): string {
  return path === '' ? cid : `${cid}/${path}`
}

function textOf(entries: ReadonlyMap<string, Takedown>): string {
  return HEADER + [...entries.values()].map(linesOf).join('')
}

/** Formats the rule. A path gets a second rule for everything below it. */
function linesOf({ cid, path, status, reason, at }: Takedown): string {
  const target = `/ipfs/${[cid, ...path.split('/').filter(name => name !== '')].map(encodeURIComponent).join('/')}`
  const rule = `${target} gateway_status:${status} at:${new Date(at).toISOString()} reason:${encodeURIComponent(reason.toWellFormed())}\n`
  return path === '' ? rule : `${rule}${target}/* gateway_status:${status}\n`
}

/** Parses an entry; null for a header, or for the second rule of a path. */
function readEntry(line: string): Takedown | null {
  const match = /^\/ipfs\/([^/\s]+)(?:\/(\S*))? gateway_status:(410|451) at:(\S+) reason:(\S+)$/.exec(line)
  if (match === null) return null
  const [, cid = '', path = '', status, at = '', reason = ''] = match
  try {
    return {
      cid,
      path: decodeURIComponent(path),
      status: status === '451' ? 451 : 410,
      reason: decodeURIComponent(reason),
      at: Date.parse(at),
    }
  } catch {
    return null
  }
}
