import type { CID } from 'multiformats/cid'
import type { ClusterRegistry } from '../clusters/cluster-registry.ts'
import { stagingOf } from '../clusters/staging-backend.ts'
import type { StagedDag } from '../content/dag/staged-dag.ts'
import { ADMITTED } from '../content/dag/walk.ts'
import type { PossessedContent, TakenSource } from '../content/taken-source.ts'
import { listContent } from '../content/unixfs/content-listing.ts'
import type { Clock } from '../domain/clock.ts'
import { isHoldfastError } from '../domain/errors.ts'
import { checkNew, HASH, identityOf, parseCid } from '../ipld/cid.ts'
import type { HeldRoots } from '../ledger/held-roots.ts'
import { Possessor, PUBLIC } from '../ledger/possessor.ts'
import type { DagSizes } from '../ledger/whole-dag.ts'
import type { DecidedPin, DecidedTarget } from './decided-pin.ts'
import type { NetworkPinner } from './fetch/network-pinner.ts'
import type { CommitInput, PinCommit } from './pin-commit.ts'
import type { PinTargets } from './pin-targets.ts'
import type { PinOutcome, PinRecord, PinRequest } from './pin-types.ts'

interface Parts {
  clusters: ClusterRegistry
  targets: PinTargets
  commit: PinCommit
  held: HeldRoots
  stored: PossessedContent
  network: NetworkPinner
  clock: Clock
  /** Maximum number of distinct blocks below an identity CID. No earlier upload or fetch has checked their number. */
  maxBlocks: number
  /** Returns a reader of another node in the fleet that has the content. */
  others: (cid: CID, by: Possessor) => Promise<{ source: TakenSource } | null>
}

/** Fetches content from the network only if no node of the fleet can supply the content. */
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
    const { target, by } = await this.#possessed(cid, this.#parts.targets.decide(requester, request))
    const home = stagingOf(this.#parts.clusters.backendOf(target.clusterId))
    const pin: DecidedPin = { request, requester, cid, target, home, by }
    // A credential that may read nothing private gets the same answer for every CID: a record that waits.
    const isBlind = target.owner !== PUBLIC && by.owner === PUBLIC
    if (request.isAnew === true || isBlind) return this.#pinAnew({ ...pin, request: { ...request, isAnew: true } })
    let problem: unknown = null
    for await (const holder of this.#holders(cid, by)) {
      try {
        return await this.#pinHeld(pin, holder)
      } catch (error) {
        if (!isUnsupplied(error)) throw error
        problem = error
      }
    }
    try {
      return await this.#parts.network.pin(pin)
    } catch (error) {
      // The fleet has the content, so its problem is the better answer.
      throw problem !== null && isHoldfastError(error, 'CID_NOT_FOUND') ? problem : error
    }
  }

  /** Decides for whom a pin uses stored blocks. A pin of content that only the account has becomes private. */
  async #possessed(cid: CID, target: DecidedTarget): Promise<{ target: DecidedTarget; by: Possessor }> {
    const { clock } = this.#parts
    const [visitor, own] = [new Possessor(PUBLIC, clock), new Possessor(target.possessor, clock)]
    if (target.owner !== PUBLIC || target.possessor === PUBLIC) return { target, by: own }
    if ((await this.#isHeld(cid, visitor)) || !(await this.#isHeld(cid, own))) return { target, by: visitor }
    return { target: { ...target, owner: target.ownerOfPrivate }, by: own }
  }

  /** Adds to a private record that another record keeps its content public. */
  async withOthers(record: PinRecord): Promise<PinRecord> {
    if (record.visibility === 'public') return record
    const isPublic = await this.#isHeld(parseCid(record.cid), new Possessor(PUBLIC, this.#parts.clock))
    return isPublic ? { ...record, publicElsewhere: true } : record
  }

  async #isHeld(cid: CID, by: Possessor): Promise<boolean> {
    for await (const _ of this.#holders(cid, by)) return true
    return false
  }

  /** Commits the record at once if the backend has the whole root. Otherwise queues the record without a search. */
  async #pinAnew(pin: DecidedPin): Promise<PinOutcome> {
    const { commit, network } = this.#parts
    const origins = network.usable(pin.request.origins)
    const whole = await this.#wholeRoot(pin)
    if (whole !== null) {
      try {
        return await commit.commit({ ...whole, isAnew: true })
      } catch (error) {
        // The root may be dropped before the commit.
        if (!isHoldfastError(error, 'CID_NOT_FOUND')) throw error
      }
    }
    return network.queue({ ...pin, request: { ...pin.request, origins } })
  }

  async #pinHeld(pin: DecidedPin, holder: TakenSource): Promise<PinOutcome> {
    const whole = await this.#wholeRoot(pin)
    if (whole !== null) return this.#parts.commit.commit(whole)
    const { request, cid, home } = pin
    const maxBlocks = cid.multihash.code === HASH.identity ? this.#parts.maxBlocks : ADMITTED
    const staged = await home.staging.take(cid, holder, { maxBlocks, signal: request.signal })
    try {
      const contentSize = await listContent(staged, cid, staged, request.signal)
      await staged.settle()
      return await this.#parts.commit.commit(inputOf(pin, staged, staged.sizes(contentSize)))
    } catch (error) {
      await staged.abandon()
      throw error
    }
  }

  /**
   * Returns the input of a commit, or null if the backend lacks a live complete root for the record, or a block of the
   * root.
   */
  async #wholeRoot(pin: DecidedPin): Promise<CommitInput | null> {
    const { held, network, clock } = this.#parts
    if (pin.target.owner !== PUBLIC && pin.target.owner !== pin.by.owner) return null
    const root = held.find(pin.home.id, identityOf(pin.cid), pin.target.owner)
    if (root === undefined || !held.isLive(root.id, clock.now()) || held.isLostFrom(root.id)) return null
    // The ledger does not know what an external backend has lost, but the content then has a fetch.
    return (await network.isFetched(pin)) ? null : inputOf(pin, null, root)
  }

  async *#holders(cid: CID, by: Possessor): AsyncGenerator<TakenSource, void, undefined> {
    const local = this.#parts.stored.blocksOf(cid, by)
    if (local !== null) yield local
    const other = await this.#parts.others(cid, by)
    if (other !== null) yield other.source
  }
}

/** Returns whether a backend could not supply content that the ledger or the catalogue says it has. */
function isUnsupplied(error: unknown): boolean {
  return isHoldfastError(error) && ['CID_NOT_FOUND', 'BLOCK_DAMAGED', 'UNAVAILABLE'].includes(error.code)
}

function inputOf(pin: DecidedPin, staged: StagedDag | null, sizes: DagSizes): CommitInput {
  const { request, requester, cid, target, home } = pin
  const cidText = request.cid.trim()
  return { requester, target, names: request, type: 'pin', cidText, cid, staged, backend: home, sizes }
}
