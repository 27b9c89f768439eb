import type { CID } from 'multiformats/cid'
import type { ClusterBackend } from '../clusters/cluster-backend.ts'
import type { ClusterRegistry } from '../clusters/cluster-registry.ts'
import { HASH, identityOf, parseCid } from '../domain/cid.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { BlockTable } from '../storage/block-table.ts'
import type { RootTable } from '../storage/root-table.ts'
import { listContent } from './content-listing.ts'
import type { DecidedTarget, PinCommit, Requester } from './pin-commit.ts'
import type { PinOutcome, PinRequest } from './types.ts'

/** Pins content that the node holds already: a root, or anything below one. */
export class Pinner {
  readonly #clusters: ClusterRegistry
  readonly #commit: PinCommit
  readonly #roots: RootTable
  readonly #blocks: BlockTable
  readonly #now: () => number

  constructor(
    clusters: ClusterRegistry,
    commit: PinCommit,
    tables: { roots: RootTable; blocks: BlockTable },
    now: () => number,
  ) {
    this.#clusters = clusters
    this.#commit = commit
    this.#roots = tables.roots
    this.#blocks = tables.blocks
    this.#now = now
  }

  /** @throws HoldfastError `INVALID_CID`; `CID_NOT_FOUND` if no live record needs the content. */
  async pin(request: PinRequest): Promise<PinOutcome> {
    const requester = this.#commit.requester(request.account)
    const cid = parseCid(request.cid)
    const target = this.#commit.decide(requester, request)
    const backend = this.#findHolder(cid)
    const home = this.#clusters.backendOf(target.clusterId)
    const complete = this.#roots.find(home.id, identityOf(cid))
    if (complete !== undefined) {
      const { contentSize, dagSize, fileCount } = complete
      const whole = { staged: null, backend: home, contentSize, dagSize, fileCount }
      return this.#commit.commit({ ...whole, ...describe(requester, target, request, cid) })
    }
    const staged = await home.pin(cid, backend, { signal: request.signal })
    try {
      const contentSize = await listContent(staged, cid)
      await staged.settle()
      const { dagSize, fileCount } = staged
      const whole = { staged, backend: home, contentSize, dagSize, fileCount }
      return await this.#commit.commit({ ...whole, ...describe(requester, target, request, cid) })
    } catch (error) {
      await staged.abandon()
      throw error
    }
  }

  /** Below a complete root every block is here, so the one block answers for all that is below it. */
  #findHolder(cid: CID): ClusterBackend {
    if (cid.multihash.code === HASH.identity) return this.#clusters.defaultBackend
    const held = this.#blocks.findLive(cid.multihash.bytes, this.#now())
    const backend = this.#clusters.backends.find(candidate => candidate.id === held?.backendId)
    if (backend === undefined) throw new HoldfastError('CID_NOT_FOUND', `nobody has ${cid}`)
    return backend
  }
}

function describe(requester: Requester, target: DecidedTarget, request: PinRequest, cid: CID) {
  return { requester, target, names: request, type: 'pin' as const, cidText: request.cid.trim(), cid }
}
