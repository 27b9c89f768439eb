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

/** Content that the owner has taken down: the gateway refuses it. */
export interface Takedown {
  cid: string
  /** Below the CID, decoded, without slashes around it; empty for the block itself and so for all below it. */
  path: string
  status: BlockedStatus
  reason: string
  /** Milliseconds since the epoch. */
  at: number
}

/** Content to be taken down. */
export interface TakedownRequest {
  /** Of either version, in any multibase. */
  cid: string
  /** Below the CID, percent-encoding resolved. Default: the block itself, and so all below it. */
  path?: string | undefined
  /** What it is for, 1 to 1,000 printable characters. */
  reason: string
  /** Default 410. */
  status?: BlockedStatus | undefined
}

export interface TakedownMeans {
  fileSystem: FileSystem
  clock: Clock
  logger: Logger
  /** What the ledger knows of them: by it the roots are opened. */
  withholding: Pick<Withholding, 'begin' | 'change' | 'settled'>
  /** The takedowns of all nodes, of which the file has what they were; null for a node that is alone. */
  shared?: TakedownRows | null
}

const LONGEST_PATH = 4096
const LONGEST_REASON = 1000
/** How long a takedown, or its end, waits for the walks of the roots that are concerned: until then they are refused. */
const WAIT_MS = 2_000
const HEADER = 'version: 1\nname: takedowns\n---\n'

/**
 * What the owner has taken down, kept in a file in the compact denylist format. Where nodes share them the file follows
 * what all of them have, so that it holds without the others, too.
 */
export class Takedowns {
  readonly #path: string
  readonly #means: TakedownMeans
  #entries: ReadonlyMap<string, Takedown>
  /** The list as it is now: another object as soon as it has changed. */
  denylist: Denylist
  /** Counts the changes, in shared memory: by it other threads know that they have to read the file again. */
  readonly revision = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  #changing: Promise<unknown> = Promise.resolve()
  /** What has not begun to follow yet. */
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
   * Reads the file; one that is not there is empty.
   *
   * @param path beside a directory `tmp/` of the same file system
   * @throws HoldfastError `DATA_DIR_UNUSABLE` if it cannot be read: nothing is served unchecked.
   */
  static open(path: string, means: TakedownMeans): Takedowns {
    try {
      return new Takedowns(path, means, readFileSync(path, 'utf8'))
    } catch (cause) {
      if (fileErrorCode(cause) === 'ENOENT') return new Takedowns(path, means, '')
      throw new HoldfastError('DATA_DIR_UNUSABLE', `${path} cannot be read`, { cause })
    }
  }

  /** The oldest first. */
  page({ after, limit }: PageRequest): Page<Takedown> {
    const entries = [...this.#entries.values()]
    const start = after === null ? 0 : entries.findIndex(entry => keyOf(entry) === after) + 1
    const rows = entries.slice(start, start + limit)
    const last = rows.at(-1)
    return { rows, next: last !== undefined && start + limit < entries.length ? keyOf(last) : null }
  }

  /**
   * Takes content down. When this resolves the gateway refuses it, and goes on doing so after a power cut. What has
   * been taken down before gets the new reason and status.
   *
   * @throws HoldfastError `INVALID_CID`, `VALIDATION`; `UNAVAILABLE` where they are shared; `OUTCOME_UNKNOWN`, where the same
   * may be asked for again
   */
  async add({ cid, path = '', reason, status = 410 }: TakedownRequest): Promise<Takedown> {
    const words = reason.trim()
    if (words === '' || words.length > LONGEST_REASON || /\p{Cc}/u.test(words)) {
      throw new HoldfastError('VALIDATION', `reason must be 1 to ${LONGEST_REASON} printable characters`)
    }
    const at = this.#means.clock.now()
    const entry: Takedown = { cid: canonical(cid), path: readPath(path), status, reason: words, at }
    await this.#means.shared?.put(entry)
    await this.#changeHere(async entries => entries.set(keyOf(entry), entry))
    await this.#followIfPossible()
    await this.#settle()
    this.#means.logger.warn({ ...entry }, 'content taken down')
    return entry
  }

  /**
   * Lets content be served again.
   *
   * @throws HoldfastError `INVALID_CID`, `VALIDATION`; `NOT_FOUND` if it is not taken down by that CID and path;
   * `UNAVAILABLE` where they are shared; `OUTCOME_UNKNOWN` as of {@link add}
   */
  async remove(target: Pick<TakedownRequest, 'cid' | 'path'>): Promise<void> {
    const entry = { cid: canonical(target.cid), path: readPath(target.path ?? '') }
    const { shared, clock } = this.#means
    const isLifted = await shared?.lift(entry, clock.now())
    await this.#changeHere(async entries => {
      const wasHere = entries.delete(keyOf(entry))
      if (isLifted ?? wasHere) return
      throw new HoldfastError('NOT_FOUND', `${keyOf(entry)} has not been taken down here`)
    })
    await this.#followIfPossible()
    await this.#settle()
    this.#means.logger.warn(entry, 'takedown lifted')
  }

  /**
   * Has here what all nodes have, and all nodes what was taken down here before they shared it, or is lost there. When
   * this resolves it holds here as after {@link add}.
   *
   * @throws HoldfastError `UNAVAILABLE`
   */
  follow(): Promise<void> {
    const { shared } = this.#means
    if (!shared) return Promise.resolve()
    this.#next ??= this.#change(async entries => {
      // Whoever calls from here on may know of more than is read.
      this.#next = null
      let all = await shared.all()
      const known = new Set(all.map(keyOf))
      const unknown = [...entries.values()].filter(entry => !known.has(keyOf(entry)))
      if (unknown.length > 0) {
        await shared.adopt(unknown)
        this.#means.logger.warn({ count: unknown.length }, 'what only this node had taken down is taken down on all')
        all = await shared.all()
      }
      entries.clear()
      for (const { liftedAt, ...entry } of all) if (liftedAt === null) entries.set(keyOf(entry), entry)
    })
    return this.#next
  }

  /** Another node may have changed the same just now. */
  async #followIfPossible(): Promise<void> {
    await this.follow().catch(() => undefined)
  }

  /** A change of the file; one that all nodes share holds on the others whatever becomes of the file. */
  async #changeHere(change: (entries: Map<string, Takedown>) => Promise<unknown>): Promise<void> {
    try {
      await this.#change(change)
    } catch (cause) {
      if (!this.#means.shared || isHoldfastError(cause, 'NOT_FOUND')) throw cause
      throw outcomeUnknown(cause)
    }
  }

  /** One change after the other: the file first, then what is looked at. */
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
        // The file has it by now.
        throw outcomeUnknown(cause)
      } finally {
        // Answers under way look again at each revision, and have to find what the ledger knows by then.
        this.#entries = entries
        this.denylist = denylist
        Atomics.add(this.revision, 0, 1)
      }
    })
    this.#changing = changed.catch(() => undefined)
    return changed
  }

  /** Brings the ledger to what is taken down. Nothing may be served before. */
  start(): Promise<void> {
    return this.#means.withholding.begin(this.denylist)
  }

  /** Small walks end at once; large ones go on behind the answer. */
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
  const message = 'the change is recorded, and the disk of this node failed: ask for it again'
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

/** The rule, and for a path another one for all below it. */
function linesOf({ cid, path, status, reason, at }: Takedown): string {
  const target = `/ipfs/${[cid, ...path.split('/').filter(name => name !== '')].map(encodeURIComponent).join('/')}`
  const rule = `${target} gateway_status:${status} at:${new Date(at).toISOString()} reason:${encodeURIComponent(reason.toWellFormed())}\n`
  return path === '' ? rule : `${rule}${target}/* gateway_status:${status}\n`
}

/** Null for what says no reason: headers, and rules that belong to another. */
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
