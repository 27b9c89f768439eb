import type { CID } from 'multiformats/cid'
import type { LiveContent } from '../../content/live-content.ts'
import { cidOf, HASH, identityOf } from '../../domain/cid.ts'
import type { HeldRoots } from '../../ledger/held-roots.ts'
import type { ServedBlocks } from '../../network/served-blocks.ts'
import type { TakenDown } from './admission.ts'
import type { Denylist } from './denylist.ts'

/** Roots of a block that are looked at; one that only so many taken down ones need is not served. */
const MOST_ROOTS = 1_000

/**
 * What peers get: blocks that some live record needs, but for what has been taken down. That is the CID itself, and
 * blocks that are needed only by roots which are; blocks that other content shares are served. Peers name no
 * paths, so a takedown of a path does not bind them: that of the CID at its end does.
 */
export class PeerBlocks implements ServedBlocks {
  readonly #content: LiveContent
  readonly #roots: Pick<HeldRoots, 'findAnywhere' | 'rootsWith'>
  readonly #takedowns: TakenDown

  constructor(content: LiveContent, roots: Pick<HeldRoots, 'findAnywhere' | 'rootsWith'>, takedowns: TakenDown) {
    this.#content = content
    this.#roots = roots
    this.#takedowns = takedowns
  }

  has(cid: CID): boolean {
    return this.#content.has(cid) && this.#mayServe(cid)
  }

  async get(cid: CID): Promise<Uint8Array | null> {
    const leased = this.#mayServe(cid) ? this.#content.lease(cid) : null
    if (leased === null) return null
    try {
      return await leased.source.read(cid)
    } finally {
      leased.release()
    }
  }

  #mayServe(cid: CID): boolean {
    const { denylist } = this.#takedowns
    if (denylist === null || denylist.size === 0) return true
    if (denylist.statusOf(cid) !== null) return false
    if (cid.multihash.code === HASH.identity || this.#roots.findAnywhere(identityOf(cid)) !== undefined) return true
    return this.#isPartOfMore(cid, denylist)
  }

  #isPartOfMore(cid: CID, denylist: Denylist): boolean {
    let looked = 0
    for (const root of this.#roots.rootsWith(cid.multihash.bytes)) {
      if (denylist.statusOf(cidOf(root)) === null) return true
      if (++looked === MOST_ROOTS) return false
    }
    return false
  }
}
