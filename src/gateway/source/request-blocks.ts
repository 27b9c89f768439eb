import type { CID } from 'multiformats/cid'
import type { MemoryBudget } from '../../concurrency/capacity/memory-budget.ts'
import { Semaphore } from '../../concurrency/capacity/semaphore.ts'
import { currentOwner } from '../../concurrency/work.ts'
import { type SpareReads, WalkBudget, type WalkLimits } from '../../content/dag/ordered-walk.ts'
import type { LeasedContent, LiveContent } from '../../content/live-content.ts'
import type { BlockReader } from '../../content/unixfs/block-reader.ts'
import type { Loaded, NodeCache } from '../../content/unixfs/node-cache.ts'
import type { AnswerMeans } from '../../content/unixfs/streamed-block.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import { HASH } from '../../ipld/cid.ts'
import type { AdmissionRules } from '../policy/admission.ts'
import type { PaidContent } from '../policy/egress-cap.ts'

export interface HeldContent {
  /** True if the blocks are on this node's disk, where a read takes only milliseconds. */
  readonly isLocal: boolean
  /** Time when the blocks expire, in ms since the epoch. Null if unknown. */
  readonly liveUntil: number | null
  /** Id of the root in this node's ledger. Absent or null if another node or the network has the content. */
  readonly rootId?: number | null
  /**
   * Returns a verified block.
   *
   * @throws HoldfastError `NOT_FOUND`, `CID_NOT_FOUND`, `BLOCK_DAMAGED`, `UNAVAILABLE`
   */
  get(cid: CID): Promise<Uint8Array>
  /** Returns the size in bytes, or null if the size is unknown before a read. */
  sizeOf(cid: CID): number | null
  /** Releases the blocks. A second call does nothing. */
  release(): void
}

export interface ContentOrigin {
  /**
   * True if this origin serves the content of records. After an origin refuses the content, only origins with this flag
   * are asked.
   */
  readonly isForRecords: boolean
  /**
   * Opens the content below a root. Returns null if this origin does not have the root. The caller must release the
   * result.
   *
   * @throws HoldfastError `UNAVAILABLE` if the origin does not respond in time; `GONE` or `LEGAL_REASONS` if every path
   * to the root is taken down
   */
  open(root: CID, signal: AbortSignal): HeldContent | null | Promise<HeldContent | null>
}

/** Concurrent block reads for all responses, about the size of the thread pool. */
const READS_AT_ONCE = 6

/** Remote reads have their own limit, because they wait for the network and not for the disk. */
const REMOTE_READS_AT_ONCE = 32

export class PinnedContent implements ContentOrigin {
  readonly isForRecords = true
  readonly #content: LiveContent
  readonly #reads = new Semaphore(READS_AT_ONCE)
  readonly #remoteReads = new Semaphore(REMOTE_READS_AT_ONCE)

  constructor(content: LiveContent) {
    this.#content = content
  }

  open(root: CID, signal: AbortSignal): HeldContent | null {
    const leased = this.#content.lease(root)
    if (leased === null) return null
    return new LeasedBlocks(leased, leased.isLocal ? this.#reads : this.#remoteReads, signal)
  }
}

class LeasedBlocks implements HeldContent {
  readonly isLocal: boolean
  readonly liveUntil: number | null
  readonly rootId: number | null
  readonly #leased: LeasedContent
  readonly #reads: Semaphore
  readonly #signal: AbortSignal

  constructor(leased: LeasedContent, reads: Semaphore, signal: AbortSignal) {
    this.#leased = leased
    this.#reads = reads
    this.#signal = signal
    this.isLocal = leased.isLocal
    this.liveUntil = leased.liveUntil
    this.rootId = leased.rootId
  }

  get(cid: CID): Promise<Uint8Array> {
    const read = (): Promise<Uint8Array> => this.#leased.source.read(cid, { signal: this.#signal })
    return this.#reads.hold(1, read, currentOwner())
  }

  sizeOf(cid: CID): number | null {
    return this.#leased.sizeOf(cid)
  }

  release(): void {
    this.#leased.release()
  }
}

export interface RequestBlockParts {
  /** Asked in this order. */
  origins: readonly ContentOrigin[]
  clock: Clock
  rules: AdmissionRules
  spareReads: SpareReads
  memory: MemoryBudget
  nodes: NodeCache
  signal: AbortSignal
  limits?: WalkLimits | undefined
}

/** The blocks below one root, available until the response body ends. */
export class RequestBlocks implements BlockReader {
  readonly root: CID
  readonly budget: WalkBudget
  readonly means: AnswerMeans
  readonly #parts: RequestBlockParts
  #held: HeldContent
  /** The part of the requested path that has been resolved so far. */
  #path: { roots: readonly CID[]; names: readonly string[] }
  #revision: unknown
  /** The running recheck of the root and path after a takedown. */
  #deciding: Promise<void> | null = null
  /** Blocks below an identity root. Nothing pins an identity root, so each block below it is opened separately. */
  readonly #single = new Map<string, HeldContent>()
  #firstSingle: PaidContent | null = null
  #released = false

  private constructor(root: CID, held: HeldContent, revision: unknown, parts: RequestBlockParts) {
    this.root = root
    this.#held = held
    this.#parts = parts
    this.means = { memory: parts.memory, clock: parts.clock, signal: parts.signal }
    this.budget = new WalkBudget(parts.signal, parts.limits)
    this.#path = { roots: [root], names: [] }
    this.#revision = revision
  }

  /** Opens a root. Returns null if no origin has the root. The caller must release the result. */
  static async open(root: CID, parts: RequestBlockParts): Promise<RequestBlocks | null> {
    // The revision is read before the root is opened, so the first block notices a takedown in between.
    const { revision } = parts.rules
    const held = await openFirst(root, parts)
    return held === null ? null : new RequestBlocks(root, held, revision, parts)
  }

  get spareReads(): SpareReads {
    return this.#parts.spareReads
  }

  get isLocal(): boolean {
    return this.#held.isLocal
  }

  /**
   * The content that makes an account pay. Below an identity root, the first content that was opened. Null if no record
   * of this node made the content readable.
   */
  get paid(): PaidContent | null {
    const { rootId } = this.#held
    return rootId == null ? this.#firstSingle : { cid: this.root, rootId }
  }

  get liveUntil(): number | null {
    let until = this.#held.liveUntil
    for (const { liveUntil } of this.#single.values()) {
      if (liveUntil !== null && (until === null || liveUntil < until)) until = liveUntil
    }
    return until
  }

  /**
   * Returns a verified block.
   *
   * @throws HoldfastError `NOT_FOUND` if the block is missing or no longer pinned; `BLOCK_DAMAGED`; `GONE` or
   * `LEGAL_REASONS` if the block is taken down or on the denylist
   */
  async get(cid: CID): Promise<Uint8Array> {
    const held = await this.#heldFor(cid)
    return held.get(cid)
  }

  /**
   * Returns a block and its decoded node.
   *
   * @throws HoldfastError see {@link get}; `INVALID_CID` if the block does not match its codec
   */
  async load(cid: CID): Promise<Loaded> {
    const held = await this.#heldFor(cid)
    return this.#parts.nodes.load(cid, asked => held.get(asked))
  }

  /**
   * Checks each CID on the path, with the names below that CID, against the denylists.
   *
   * @throws HoldfastError `GONE` or `LEGAL_REASONS` if a part of the path is blocked
   */
  checkPath(roots: readonly CID[], names: readonly string[]): void {
    const { rules } = this.#parts
    this.#path = { roots, names }
    if (roots.length !== names.length + 1) return
    for (const [depth, cid] of roots.entries()) rules.checkBlocked(cid, names.slice(depth))
  }

  sizeOf(cid: CID): number | null {
    if (cid.multihash.code === HASH.identity) return cid.multihash.digest.length
    return this.#isSingle(cid) ? null : this.#held.sizeOf(cid)
  }

  release(): void {
    this.#released = true
    this.#held.release()
    for (const held of this.#single.values()) held.release()
    this.#single.clear()
  }

  /** Checks that the block is still allowed and its content has not expired. Returns the content. */
  async #heldFor(cid: CID): Promise<HeldContent> {
    this.#parts.signal.throwIfAborted()
    if (this.#parts.rules.revision !== this.#revision) this.#deciding = this.#decide()
    if (this.#deciding !== null) await this.#deciding
    await this.#renew()
    this.#parts.rules.checkBlocked(cid)
    return this.#isSingle(cid) ? this.#holdSingle(cid) : this.#held
  }

  /** Rechecks an open response after a takedown: its path, and whether an origin still serves the root. */
  async #decide(): Promise<void> {
    const { rules } = this.#parts
    this.#revision = rules.revision
    const { roots, names } = this.#path
    for (const cid of roots) rules.checkBlocked(cid)
    this.checkPath(roots, names)
    for (const held of this.#single.values()) held.release()
    this.#single.clear()
    await this.#openAgain()
  }

  /** Reopens the root if its open content has expired. Throws if no origin has the root any longer. */
  async #renew(): Promise<void> {
    if (this.#released) throw gone(this.root)
    const { liveUntil } = this.#held
    if (liveUntil === null || liveUntil > this.#parts.clock.now()) return
    await this.#openAgain()
  }

  async #openAgain(): Promise<void> {
    const next = await openFirst(this.root, this.#parts)
    if (next === null) throw gone(this.root)
    this.#held.release()
    this.#held = next
    if (this.#released) next.release()
  }

  #isSingle(cid: CID): boolean {
    return this.root.multihash.code === HASH.identity && cid.multihash.code !== HASH.identity
  }

  async #holdSingle(cid: CID): Promise<HeldContent> {
    const key = cid.toString()
    const known = this.#single.get(key)
    if (known !== undefined) return known
    const held = await openFirst(cid, this.#parts)
    if (held === null) throw gone(cid)
    this.#single.set(key, held)
    const { rootId } = held
    if (rootId != null) this.#firstSingle ??= { cid, rootId }
    if (this.#released) held.release()
    return held
  }
}

/** Errors with which an origin refuses content. Another origin may still serve the content. */
const REFUSALS: readonly string[] = ['GONE', 'LEGAL_REASONS', 'UNAVAILABLE']

async function openFirst(root: CID, { origins, signal }: RequestBlockParts): Promise<HeldContent | null> {
  let refused: HoldfastError | null = null
  for (const origin of origins) {
    if (refused !== null && !origin.isForRecords) break
    try {
      const held = await origin.open(root, signal)
      if (held !== null) return held
    } catch (error) {
      if (!isHoldfastError(error) || !REFUSALS.includes(error.code)) throw error
      refused ??= error
    }
  }
  if (refused !== null) throw refused
  return null
}

function gone(cid: CID): HoldfastError {
  return new HoldfastError('NOT_FOUND', `${cid} is not pinned on this node`)
}
