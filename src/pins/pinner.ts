import type { CID } from 'multiformats/cid'
import type { ClusterRegistry } from '../clusters/cluster-registry.ts'
import { stagingOf } from '../clusters/staging-backend.ts'
import type { BlockSource } from '../content/block-source.ts'
import { listContent } from '../content/unixfs/content-listing.ts'
import { HASH, identityOf, parseCid } from '../domain/cid.ts'
import { isHoldfastError } from '../domain/errors.ts'
import type { HeldRoots } from '../ledger/held-roots.ts'
import type { NetworkPinner } from './network-pinner.ts'
import type { PinCommit } from './pin-commit.ts'
import type { DecidedPin, PinOutcome, PinRequest } from './types.ts'

/** Pins content by its CID: what the node holds already at once, the rest from the network. */
export class Pinner {
  readonly #clusters: ClusterRegistry
  readonly #commit: PinCommit
  readonly #held: HeldRoots
  readonly #network: NetworkPinner
  readonly #now: () => number

  constructor(
    clusters: ClusterRegistry,
    commit: PinCommit,
    held: HeldRoots,
    network: NetworkPinner,
    now: () => number,
  ) {
    this.#clusters = clusters
    this.#commit = commit
    this.#held = held
    this.#network = network
    this.#now = now
  }

  /** @throws HoldfastError `INVALID_CID`; `CID_NOT_FOUND` if nobody has the content; those of quota and names. */
  async pin(request: PinRequest): Promise<PinOutcome> {
    const requester = await this.#commit.requester(request.account)
    const cid = parseCid(request.cid)
    const target = this.#commit.decide(requester, request)
    const home = stagingOf(this.#clusters.backendOf(target.clusterId))
    const pin: DecidedPin = { request, requester, cid, target, home }
    const holder = request.isAnew === true ? null : this.#findHolder(cid)
    if (holder === null) return this.#network.pin(pin)
    try {
      return await this.#pinHeld(pin, holder)
    } catch (error) {
      // An identity CID is its own block, but what that links to need not be here.
      const isElsewhere = cid.multihash.code === HASH.identity && isHoldfastError(error, 'CID_NOT_FOUND')
      if (isElsewhere) return this.#network.pin(pin)
      throw error
    }
  }

  async #pinHeld({ request, requester, cid, target, home }: DecidedPin, holder: BlockSource): Promise<PinOutcome> {
    const described = { requester, target, names: request, type: 'pin' as const, cidText: request.cid.trim(), cid }
    const complete = this.#held.find(home.id, identityOf(cid))
    if (complete !== undefined) {
      return this.#commit.commit({ ...described, staged: null, backend: home, sizes: complete })
    }
    const staged = await home.staging.take(cid, holder, { signal: request.signal })
    try {
      const contentSize = await listContent(staged, cid, staged.blockCount, request.signal)
      await staged.settle()
      return await this.#commit.commit({ ...described, staged, backend: home, sizes: staged.sizes(contentSize) })
    } catch (error) {
      await staged.abandon()
      throw error
    }
  }

  /** Below a complete root every block is held, so the one block answers for all that is below it. */
  #findHolder(cid: CID): BlockSource | null {
    if (cid.multihash.code === HASH.identity) return this.#clusters.defaultBackend.reader
    const place = this.#held.locate(cid.multihash.bytes, this.#now())
    return place === null ? null : this.#clusters.readerOf(place.backendId)
  }
}
