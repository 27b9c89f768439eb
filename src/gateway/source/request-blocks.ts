import type { CID } from 'multiformats/cid'
import type { MemoryBudget } from '../../concurrency/capacity/memory-budget.ts'
import { type SpareReads, WalkBudget, type WalkLimits } from '../../content/dag/ordered-walk.ts'
import type { BlockReader } from '../../content/unixfs/block-reader.ts'
import type { Loaded, NodeCache } from '../../content/unixfs/node-cache.ts'
import type { AnswerMeans } from '../../content/unixfs/streamed-block.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import { dagKey, HASH } from '../../ipld/cid.ts'
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
  /** Returns whether the root needs a block. Absent, or null, if only another node or system knows, which checks it. */
  has?(cid: CID): boolean | null
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
  /** Returns the same content with the private content of an account. Absent if this origin has none. */
  withOwn?(owner: number): ContentOrigin
}

export interface RequestBlockParts {
  /** Asked in this order. */
  origins: readonly ContentOrigin[]
  /** Number of the account that reads; {@link PUBLIC} for a stranger. */
  owner: number
  clock: Clock
  rules: AdmissionRules
  spareReads: SpareReads
  memory: MemoryBudget
  /** Decoded DAG nodes of records. A request gets a node only below a root that it may read whole. */
  nodes: NodeCache
  /** Decoded DAG nodes from the network. A root there may link to content that only some may read. */
  foreignNodes: NodeCache
  signal: AbortSignal
  limits?: WalkLimits | undefined
  /** The responses of this thread that have not ended. */
  open: Set<RequestBlocks>
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
  #revision: number
  /** The last recheck of the root and path after a revision. */
  #deciding: Promise<void> | null = null
  #refusal: { reason: unknown } | null = null
  #onRefusal: (reason: unknown) => void = () => undefined
  /** Blocks below an identity root. Nothing pins an identity root, so each block below it is opened separately. */
  readonly #single = new Map<string, HeldContent>()
  #firstSingle: PaidContent | null = null
  #released = false

  private constructor(root: CID, held: HeldContent, revision: number, parts: RequestBlockParts) {
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
    if (held === null) return null
    const blocks = new RequestBlocks(root, held, revision, parts)
    parts.open.add(blocks)
    return blocks
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
    const bytes = await held.get(cid)
    this.checkRefusal()
    return bytes
  }

  /**
   * Returns a block and its decoded node.
   *
   * @throws HoldfastError see {@link get}; `INVALID_CID` if the block does not match its codec
   */
  async load(cid: CID): Promise<Loaded> {
    const held = await this.#heldFor(cid)
    const { nodes, foreignNodes, owner } = this.#parts
    const isOfRoot = foreign.has(held) || (held.has?.(cid) ?? null)
    // If only another node knows the blocks of the root, nodes are kept for one reader and one root.
    const kept = isOfRoot ? '' : `${this.#revision} ${owner} ${dagKey(this.root)} `
    const group = isOfRoot === false ? null : kept
    const loaded = await (foreign.has(held) ? foreignNodes : nodes).load(cid, asked => held.get(asked), group)
    this.checkRefusal()
    return loaded
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

  /** Calls `end` when a revision refuses the content, even if nobody reads the response. */
  watch(end: (reason: unknown) => void): void {
    this.#onRefusal = end
    if (this.#refusal !== null) end(this.#refusal.reason)
  }

  /** @throws the reason for which a revision has refused the content of this response */
  checkRefusal(): void {
    if (this.#refusal !== null) throw this.#refusal.reason
  }

  /** Decides the response by the newest revision, and ends it if the content is refused. Never rejects. */
  async decide(): Promise<void> {
    await this.#decided()?.catch((reason: unknown) => this.refuse(reason))
  }

  refuse(reason: unknown): void {
    if (this.#released || this.#refusal !== null) return
    this.#refusal = { reason }
    this.#onRefusal(reason)
  }

  release(): void {
    this.#released = true
    this.#parts.open.delete(this)
    this.#held.release()
    for (const held of this.#single.values()) held.release()
    this.#single.clear()
  }

  /** Checks that the block is still allowed and its content has not expired. Returns the content. */
  async #heldFor(cid: CID): Promise<HeldContent> {
    this.#parts.signal.throwIfAborted()
    const deciding = this.#decided()
    if (deciding !== null) await deciding
    await this.#renew()
    this.#parts.rules.checkBlocked(cid)
    return this.#isSingle(cid) ? this.#holdSingle(cid) : this.#held
  }

  /** Returns the recheck by the newest revision; null if nothing has changed since the response was opened. */
  #decided(): Promise<void> | null {
    if (this.#parts.rules.revision !== this.#revision) this.#deciding = this.#decide()
    return this.#deciding
  }

  /** Rechecks an open response after a revision: its path, and whether an origin still serves the root. */
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

/** Content of no record. */
const foreign = new WeakSet<HeldContent>()

/** Errors with which an origin refuses content. Another origin may still serve the content. */
const REFUSALS: readonly string[] = ['GONE', 'LEGAL_REASONS', 'UNAVAILABLE']

async function openFirst(root: CID, { origins, signal }: RequestBlockParts): Promise<HeldContent | null> {
  let refused: HoldfastError | null = null
  for (const origin of origins) {
    if (refused !== null && !origin.isForRecords) break
    try {
      const held = await origin.open(root, signal)
      if (held !== null && !origin.isForRecords) foreign.add(held)
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
