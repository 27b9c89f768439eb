import type { CID } from 'multiformats/cid'
import type { MemoryBudget } from '../../concurrency/capacity/memory-budget.ts'
import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import { underName } from '../../concurrency/work.ts'
import type { CompleteConfig } from '../../config/config.ts'
import type { WalkLimits } from '../../content/dag/ordered-walk.ts'
import { SpareReads } from '../../content/dag/ordered-walk.ts'
import type { LiveContent } from '../../content/live-content.ts'
import { NodeCache } from '../../content/unixfs/node-cache.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import type { ApiRequest } from '../../http/api-messages.ts'
import { checkNew } from '../../ipld/cid.ts'
import { PUBLIC } from '../../ledger/possessor.ts'
import type { BlockFetcher } from '../../network/block-fetcher.ts'
import type { ContentPath } from '../http/content-path.ts'
import type { Admission, AdmissionRules } from '../policy/admission.ts'
import { NetworkContent } from './network-content.ts'
import { PinnedContent } from './pinned-content.ts'
import { type ContentOrigin, RequestBlocks } from './request-blocks.ts'

/** Progress of content that is being fetched for a pin. Null if the content is not being fetched. */
type Arrival = { blocks: number; bytes: number } | null
export type ArrivalOf = (cid: CID) => Arrival | Promise<Arrival>

export interface RootOpenerParts {
  content: LiveContent
  clock: Clock
  admission: Admission
  options: CompleteConfig['gateway']
  arrivalOf: ArrivalOf
  fetcher: BlockFetcher | null
  network?: ContentOrigin | undefined
  /** Content of the fleet's other nodes, which counts as pinned content. */
  others?: ContentOrigin | null | undefined
  limits?: WalkLimits | undefined
  memory: MemoryBudget
}

export type ContentRoot = Pick<ContentPath, 'cid' | 'root' | 'names'>

const NOT_SERVED: ReadonlySet<string> = new Set([
  'CID_NOT_FOUND',
  'INVALID_CID',
  'PRECONDITION_FAILED',
  'GONE',
  'LEGAL_REASONS',
])
const BLOCKS_AHEAD = 16
/** The two caches of decoded nodes may use another quarter of the memory limit. */
const NODES_SHARE = 8
const ARRIVAL_RETRY_SECONDS = 10
/** Maximum time in which another node or the network must answer whether an open response may go on. */
const DECIDE_MS = 2_000

export class RootOpener {
  readonly #parts: RootOpenerParts
  readonly #origins: readonly ContentOrigin[]
  readonly #spareReads: SpareReads
  readonly #nodes: NodeCache
  readonly #foreignNodes: NodeCache
  readonly #open = new Set<RequestBlocks>()

  /** @throws HoldfastError `CONFIG_INVALID` for the mode `open` without a network */
  constructor(parts: RootOpenerParts) {
    this.#parts = parts
    this.#nodes = new NodeCache(parts.clock, parts.memory.limit / NODES_SHARE)
    this.#foreignNodes = new NodeCache(parts.clock, parts.memory.limit / NODES_SHARE)
    this.#spareReads = new SpareReads(BLOCKS_AHEAD, () => !parts.memory.isScarce)
    this.#origins = originsOf(parts)
  }

  /**
   * Opens the content at a path. The caller must release the result.
   *
   * @throws HoldfastError `CID_NOT_FOUND`; `INVALID_CID` if the CID cannot be pinned; `PRECONDITION_FAILED` if the
   * request accepts only cached content; `UNAVAILABLE` if the content is being fetched or did not arrive in time;
   * `GONE` or `LEGAL_REASONS` if the content is blocked
   */
  async open({ header, signal }: Pick<ApiRequest, 'header' | 'signal'>, path: ContentRoot): Promise<RequestBlocks> {
    const rules = await this.#parts.admission.rules()
    rules.checkRoot(path.cid)
    rules.checkBlocked(path.cid, path.names)
    const onlyIfCached = /\bonly-if-cached\b/i.test(header('cache-control') ?? '')
    const origins = onlyIfCached ? this.#pinned : this.#origins
    const blocks = await this.#openFrom(origins, path, rules, signal, PUBLIC)
    if (blocks !== null) return blocks
    if (!onlyIfCached) throw await this.#missing(path)
    throw new HoldfastError('PRECONDITION_FAILED', `${path.root} is not pinned on this node`)
  }

  /**
   * Opens the content for an account that has pinned it, regardless of the gateway's mode and of the visibility. The
   * caller must release the result.
   *
   * @param owner the number of the account
   * @throws HoldfastError `CID_NOT_FOUND`; `INVALID_CID`; `UNAVAILABLE` if the content is being fetched; `GONE` or
   * `LEGAL_REASONS` if the content is blocked
   */
  async openPinned(path: ContentRoot, owner: number, signal: AbortSignal): Promise<RequestBlocks> {
    const rules = await this.#parts.admission.rules()
    rules.checkBlocked(path.cid, path.names)
    const own = this.#pinned.map(origin => origin.withOwn?.(owner) ?? origin)
    const blocks = await this.#openFrom(own, path, rules, signal, owner)
    if (blocks !== null) return blocks
    throw await this.#missing(path)
  }

  /**
   * Returns whether {@link open} would serve a CID to everyone without the network, and whether from this node. Null if
   * not.
   *
   * @throws HoldfastError `UNAVAILABLE` if that cannot be decided yet
   */
  async served(cid: CID, signal: AbortSignal): Promise<{ isLocal: boolean } | null> {
    const onlyIfCached = (name: string): string | undefined => (name === 'cache-control' ? 'only-if-cached' : undefined)
    try {
      const blocks = await this.open({ header: onlyIfCached, signal }, { cid, root: cid.toString(), names: [] })
      blocks.release()
      return { isLocal: blocks.isLocal }
    } catch (error) {
      if (isHoldfastError(error) && NOT_SERVED.has(error.code)) return null
      throw error
    }
  }

  /** Decides all open responses by the newest revision. Resolves when each refused response has ended. */
  decide(): Promise<void> {
    return underName('decisions after a revision', async () => {
      const undecided = new Set(this.#open)
      const deciding: Promise<void>[] = []
      for (const blocks of undecided) {
        if (turnSpent()) await nextTurn()
        deciding.push(blocks.decide().then(() => void undecided.delete(blocks)))
      }
      const late = Promise.withResolvers<void>()
      const cancel = this.#parts.clock.after(DECIDE_MS, late.resolve)
      await Promise.race([Promise.all(deciding), late.promise])
      cancel()
      for (const blocks of undecided) {
        blocks.refuse(new HoldfastError('UNAVAILABLE', `nobody answers whether ${blocks.root} may still be served`))
      }
    })
  }

  get #pinned(): readonly ContentOrigin[] {
    return this.#origins.slice(0, this.#parts.others == null ? 1 : 2)
  }

  #openFrom(
    origins: readonly ContentOrigin[],
    { cid }: ContentRoot,
    rules: AdmissionRules,
    signal: AbortSignal,
    owner: number,
  ): Promise<RequestBlocks | null> {
    const { clock, limits, memory } = this.#parts
    const caches = { nodes: this.#nodes, foreignNodes: this.#foreignNodes }
    const shared = { spareReads: this.#spareReads, ...caches, memory, open: this.#open }
    return RequestBlocks.open(cid, { ...shared, origins, owner, clock, rules, signal, limits })
  }

  async #missing({ cid, root }: ContentRoot): Promise<HoldfastError> {
    checkNew(cid, 'path')
    const arrival = await this.#parts.arrivalOf(cid)
    if (arrival !== null) return onItsWay(root, arrival)
    return new HoldfastError('CID_NOT_FOUND', `${root} is not pinned on this node`)
  }
}

function originsOf({ content, clock, options, fetcher, network, others }: RootOpenerParts): ContentOrigin[] {
  const pinned = [new PinnedContent(content), ...(others == null ? [] : [others])]
  if (options.mode !== 'open') return pinned
  if (network !== undefined) return [...pinned, network]
  if (fetcher === null) return pinned
  const timeoutMs = options.retrievalTimeoutSeconds * 1000
  return [...pinned, new NetworkContent(fetcher, clock, timeoutMs)]
}

function onItsWay(root: string, { blocks, bytes }: { blocks: number; bytes: number }): HoldfastError {
  return new HoldfastError('UNAVAILABLE', `${root} is being fetched: ${blocks} blocks, ${bytes} bytes so far`, {
    details: { retryAfter: ARRIVAL_RETRY_SECONDS, blocks, bytes },
  })
}
