import type { CID } from 'multiformats/cid'
import type { LeasedContent, LiveContent } from '../content/live-content.ts'
import { HASH } from '../domain/cid.ts'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { AdmissionRules } from './admission.ts'

/** Where blocks are read from, their hashes checked. */
export interface BlockReader {
  get(cid: CID): Promise<Uint8Array>
}

export interface RequestBlockParts {
  content: LiveContent
  clock: Clock
  rules: AdmissionRules
}

/** The blocks below one root that are held for one request, from its first look until its body has ended. */
export class RequestBlocks implements BlockReader {
  readonly root: CID
  readonly #content: LiveContent
  readonly #clock: Clock
  readonly #rules: AdmissionRules
  #held: LeasedContent
  /** An inline root vouches for nothing below it, so each block there is asked for and held by itself. */
  readonly #single = new Map<string, LeasedContent>()
  #released = false

  private constructor(root: CID, held: LeasedContent, parts: RequestBlockParts) {
    this.root = root
    this.#held = held
    this.#content = parts.content
    this.#clock = parts.clock
    this.#rules = parts.rules
  }

  /** Null if no live record needs the root. The caller releases what it gets. */
  static open(root: CID, parts: RequestBlockParts): RequestBlocks | null {
    const held = parts.content.lease(root)
    return held === null ? null : new RequestBlocks(root, held, parts)
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
    this.#renew()
    this.#rules.checkBlocked(cid)
    return this.#of(cid).store.get(cid, { verify: true })
  }

  /**
   * Checks the paths that begin below the root, once they are known: names from each of the CIDs on the way.
   *
   * @throws HoldfastError `GONE` or `LEGAL_REASONS` if one is blocked.
   */
  checkPath(roots: readonly CID[], names: readonly string[]): void {
    if (roots.length !== names.length + 1) return
    for (const [depth, cid] of roots.entries()) this.#rules.checkBlocked(cid, names.slice(depth))
  }

  /** The length of a block without reading it, null if it is not here. */
  sizeOf(cid: CID): number | null {
    if (cid.multihash.code === HASH.identity) return cid.multihash.digest.length
    return this.#of(cid).store.sizeOf(cid)
  }

  /** Gives everything back; safe to call more than once. */
  release(): void {
    this.#released = true
    this.#held.release()
    for (const held of this.#single.values()) held.release()
    this.#single.clear()
  }

  /** A timelock ends what is under way, unless another record has taken over by then. */
  #renew(): void {
    const { liveUntil } = this.#held
    if (!this.#released && (liveUntil === null || liveUntil > this.#clock.now())) return
    const next = this.#released ? null : this.#content.lease(this.root)
    if (next === null) throw gone(this.root)
    this.#held.release()
    this.#held = next
  }

  #of(cid: CID): LeasedContent {
    if (this.root.multihash.code !== HASH.identity || cid.multihash.code === HASH.identity) return this.#held
    const key = cid.toString()
    const held = this.#single.get(key) ?? this.#content.lease(cid)
    if (held === null) throw gone(cid)
    this.#single.set(key, held)
    return held
  }
}

function gone(cid: CID): HoldfastError {
  return new HoldfastError('NOT_FOUND', `${cid} is not pinned on this node`)
}
