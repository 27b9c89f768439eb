import type { CID } from 'multiformats/cid'
import type { ClusterRegistry } from '../clusters/cluster-registry.ts'
import { stagingOf } from '../clusters/staging-backend.ts'
import type { BlockSource } from '../content/block-source.ts'
import { ADMITTED } from '../content/dag/walk.ts'
import { listContent } from '../content/unixfs/content-listing.ts'
import type { Clock } from '../domain/clock.ts'
import { isHoldfastError } from '../domain/errors.ts'
import { checkNew, HASH, identityOf, parseCid } from '../ipld/cid.ts'
import type { HeldRoots } from '../ledger/held-roots.ts'
import type { NetworkPinner } from './fetch/network-pinner.ts'
import type { PinCommit } from './pin-commit.ts'
import type { PinTargets } from './pin-targets.ts'
import type { DecidedPin, PinOutcome, PinRequest } from './pin-types.ts'

interface Parts {
  clusters: ClusterRegistry
  targets: PinTargets
  commit: PinCommit
  held: HeldRoots
  network: NetworkPinner
  clock: Clock
  /** Maximum number of distinct blocks below an identity CID. No earlier upload or fetch has checked their number. */
  maxBlocks: number
  /** Returns a reader of another node in the fleet that has the content. */
  others: (cid: CID) => Promise<{ source: BlockSource } | null>
}

/** Fetches content from the network only if no node of the fleet has the content. */
export class Pinner {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** @throws HoldfastError `INVALID_CID`; `CID_NOT_FOUND` if no provider has the content; errors of quotas and names */
  async pin(request: PinRequest): Promise<PinOutcome> {
    const requester = await this.#parts.targets.requester(request.account)
    const cid = parseCid(request.cid)
    checkNew(cid, 'cid')
    const target = this.#parts.targets.decide(requester, request)
    const home = stagingOf(this.#parts.clusters.backendOf(target.clusterId))
    const pin: DecidedPin = { request, requester, cid, target, home }
    const holder =
      request.isAnew === true ? null : (this.#findHolder(cid) ?? (await this.#parts.others(cid))?.source ?? null)
    if (holder === null) return this.#parts.network.pin(pin)
    try {
      return await this.#pinHeld(pin, holder)
    } catch (error) {
      // An identity CID contains its own block, but this node may lack the blocks to which that block links.
      const isIncomplete = cid.multihash.code === HASH.identity && isHoldfastError(error, 'CID_NOT_FOUND')
      if (isIncomplete) return this.#parts.network.pin(pin)
      throw error
    }
  }

  async #pinHeld({ request, requester, cid, target, home }: DecidedPin, holder: BlockSource): Promise<PinOutcome> {
    const described = { requester, target, names: request, type: 'pin' as const, cidText: request.cid.trim(), cid }
    const complete = this.#parts.held.find(home.id, identityOf(cid))
    if (complete !== undefined) {
      return this.#parts.commit.commit({ ...described, staged: null, backend: home, sizes: complete })
    }
    const maxBlocks = cid.multihash.code === HASH.identity ? this.#parts.maxBlocks : ADMITTED
    const staged = await home.staging.take(cid, holder, { maxBlocks, signal: request.signal })
    try {
      const contentSize = await listContent(staged, cid, staged.blockCount, request.signal)
      await staged.settle()
      return await this.#parts.commit.commit({ ...described, staged, backend: home, sizes: staged.sizes(contentSize) })
    } catch (error) {
      await staged.abandon()
      throw error
    }
  }

  /**
   * Returns a reader of a backend that stores the whole DAG of a CID, or null. A backend with a complete root has all
   * blocks below each block of the root.
   */
  #findHolder(cid: CID): BlockSource | null {
    if (cid.multihash.code === HASH.identity) return this.#parts.clusters.defaultBackend.reader
    const place = this.#parts.held.locate(cid.multihash.bytes, this.#parts.clock.now())
    return place === null ? null : this.#parts.clusters.readerOf(place.backendId)
  }
}
