import type { CID } from 'multiformats/cid'
import { Semaphore } from '../../concurrency/semaphore.ts'
import { type SpareReads, WalkBudget, type WalkLimits } from '../../content/dag/ordered-walk.ts'
import type { LeasedContent, LiveContent } from '../../content/live-content.ts'
import type { BlockReader } from '../../content/unixfs/block-reader.ts'
import type { Loaded, NodeCache } from '../../content/unixfs/node-cache.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import { HASH } from '../../ipld/cid.ts'
import type { AdmissionRules } from '../policy/admission.ts'

/** Blocks that may be served until they are released. */
export interface HeldContent {
  /** Whether reading is a matter of milliseconds. */
  readonly isLocal: boolean
  /** Until when they may be served, as far as is known, in milliseconds since the epoch; null for no end. */
  readonly liveUntil: number | null
  /**
   * The bytes of a block, their hash checked.
   *
   * @throws HoldfastError `NOT_FOUND`, `CID_NOT_FOUND`, `BLOCK_DAMAGED`, `UNAVAILABLE`
   */
  get(cid: CID): Promise<Uint8Array>
  /** The length of a block if that is known without reading it. */
  sizeOf(cid: CID): number | null
  /** Safe to call more than once. */
  release(): void
}

/** Where content comes from. */
export interface ContentOrigin {
  /** Whether it has what records need: only such a one may have what another refuses. */
  readonly isForRecords: boolean
  /**
   * Null if the root is not to be had here. The caller releases what it gets.
   *
   * @throws HoldfastError `UNAVAILABLE` if that could not be found out in time; `GONE` or `LEGAL_REASONS` if every way to
   * it is taken down
   */
  open(root: CID, signal: AbortSignal): HeldContent | null | Promise<HeldContent | null>
}

/** Blocks being read and checked at a time, over all answers: about what the thread pool works on. */
const READS_AT_ONCE = 6

/** Blocks being read from clusters that are kept elsewhere: these wait for others, and nobody here for them. */
const READS_ELSEWHERE_AT_ONCE = 32

/** What live records need. */
export class PinnedContent implements ContentOrigin {
  readonly isForRecords = true
  readonly #content: LiveContent
  readonly #reads = new Semaphore(READS_AT_ONCE)
  readonly #readsElsewhere = new Semaphore(READS_ELSEWHERE_AT_ONCE)

  constructor(content: LiveContent) {
    this.#content = content
  }

  open(root: CID, signal: AbortSignal): HeldContent | null {
    const leased = this.#content.lease(root)
    if (leased === null) return null
    return new LeasedBlocks(leased, leased.isLocal ? this.#reads : this.#readsElsewhere, signal)
  }
}

class LeasedBlocks implements HeldContent {
  readonly isLocal: boolean
  readonly liveUntil: number | null
  readonly #leased: LeasedContent
  readonly #reads: Semaphore
  readonly #signal: AbortSignal

  constructor(leased: LeasedContent, reads: Semaphore, signal: AbortSignal) {
    this.#leased = leased
    this.#reads = reads
    this.#signal = signal
    this.isLocal = leased.isLocal
    this.liveUntil = leased.liveUntil
  }

  get(cid: CID): Promise<Uint8Array> {
    return this.#reads.hold(1, () => this.#leased.source.read(cid, { signal: this.#signal }))
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
  nodes: NodeCache
  signal: AbortSignal
  limits?: WalkLimits | undefined
}

/** The blocks below one root that are held for one request, from its first look until its body has ended. */
export class RequestBlocks implements BlockReader {
  readonly root: CID
  readonly budget: WalkBudget
  readonly #parts: RequestBlockParts
  #held: HeldContent
  /** What leads to the content, as far as is known, and by which rules that was looked at last. */
  #path: { roots: readonly CID[]; names: readonly string[] }
  #revision: unknown
  /** Looking again whether the root may be opened, after a takedown. */
  #deciding: Promise<void> | null = null
  /** An inline root vouches for nothing below it, so each block there is asked for and held by itself. */
  readonly #single = new Map<string, HeldContent>()
  #released = false

  private constructor(root: CID, held: HeldContent, revision: unknown, parts: RequestBlockParts) {
    this.root = root
    this.#held = held
    this.#parts = parts
    this.budget = new WalkBudget(parts.signal, parts.limits)
    this.#path = { roots: [root], names: [] }
    this.#revision = revision
  }

  /** Null if no origin has the root. The caller releases what it gets. */
  static async open(root: CID, parts: RequestBlockParts): Promise<RequestBlocks | null> {
    // Before the root is found: what is taken down from here on is looked at with the first block.
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

  /** Until when the blocks may be served, as far as is known; null for no end. */
  get liveUntil(): number | null {
    let until = this.#held.liveUntil
    for (const { liveUntil } of this.#single.values()) {
      if (liveUntil !== null && (until === null || liveUntil < until)) until = liveUntil
    }
    return until
  }

  /**
   * The bytes of a block, their hash checked.
   *
   * @throws HoldfastError `NOT_FOUND` if it is not here, or not any more; `BLOCK_DAMAGED`; `GONE` or
   * `LEGAL_REASONS` if it is blocked.
   */
  async get(cid: CID): Promise<Uint8Array> {
    const held = await this.#heldFor(cid)
    return held.get(cid)
  }

  /**
   * A block and what it is.
   *
   * @throws HoldfastError as {@link get}; `INVALID_CID` if it is not what it claims.
   */
  async load(cid: CID): Promise<Loaded> {
    const held = await this.#heldFor(cid)
    return this.#parts.nodes.load(cid, asked => held.get(asked))
  }

  /**
   * Checks the paths that begin below the root, once they are known: names from each of the CIDs on the way.
   *
   * @throws HoldfastError `GONE` or `LEGAL_REASONS` if one is blocked.
   */
  checkPath(roots: readonly CID[], names: readonly string[]): void {
    const { rules } = this.#parts
    this.#path = { roots, names }
    if (roots.length !== names.length + 1) return
    for (const [depth, cid] of roots.entries()) rules.checkBlocked(cid, names.slice(depth))
  }

  /** The length of a block if that is known without reading it. */
  sizeOf(cid: CID): number | null {
    if (cid.multihash.code === HASH.identity) return cid.multihash.digest.length
    return this.#isSingle(cid) ? null : this.#held.sizeOf(cid)
  }

  /** Gives everything back; safe to call more than once. */
  release(): void {
    this.#released = true
    this.#held.release()
    for (const held of this.#single.values()) held.release()
    this.#single.clear()
  }

  /** What a block is read from, which may have changed since the last. */
  async #heldFor(cid: CID): Promise<HeldContent> {
    this.#parts.signal.throwIfAborted()
    if (this.#parts.rules.revision !== this.#revision) this.#deciding = this.#decide()
    if (this.#deciding !== null) await this.#deciding
    await this.#renew()
    this.#parts.rules.checkBlocked(cid)
    return this.#isSingle(cid) ? this.#holdSingle(cid) : this.#held
  }

  /** What is taken down ends what is under way, by its own CID and by what leads to it. */
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

  /** A timelock ends what is under way, unless another record has taken over by then. */
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
    if (this.#released) held.release()
    return held
  }
}

/** How one origin refuses what another may still have. */
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
