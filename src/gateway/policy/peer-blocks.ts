import type { CID } from 'multiformats/cid'
import type { LiveContent } from '../../content/live-content.ts'
import { isHoldfastError } from '../../domain/errors.ts'
import type { ServedBlocks } from '../../network/served-blocks.ts'
import type { TakenDown } from './admission.ts'

/**
 * Blocks that this node serves to peers. Peers request blocks by CID, so a takedown of a path does not apply to peers.
 */
export class PeerBlocks implements ServedBlocks {
  readonly #content: LiveContent
  readonly #takedowns: TakenDown

  constructor(content: LiveContent, takedowns: TakenDown) {
    this.#content = content
    this.#takedowns = takedowns
  }

  has(cid: CID): boolean {
    return !this.#isTakenDown(cid) && this.#content.has(cid)
  }

  async get(cid: CID): Promise<Uint8Array | null> {
    const leased = this.#isTakenDown(cid) ? null : this.#lease(cid)
    if (leased === null) return null
    try {
      return await leased.source.read(cid)
    } finally {
      leased.release()
    }
  }

  #lease(cid: CID) {
    try {
      return this.#content.lease(cid)
    } catch (error) {
      if (isHoldfastError(error)) return null
      throw error
    }
  }

  #isTakenDown(cid: CID): boolean {
    const { denylist } = this.#takedowns
    return denylist !== null && !denylist.isEmpty && denylist.statusOf(cid) !== null
  }
}
