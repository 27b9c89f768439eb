import type { CID } from 'multiformats/cid'
import { SpareReads } from '../../content/dag/spare-reads.ts'
import type { WalkLimits } from '../../content/dag/walk-budget.ts'
import type { LiveContent } from '../../content/live-content.ts'
import { NodeCache } from '../../content/unixfs/node-cache.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { GatewayConfig } from '../../domain/options.ts'
import type { ApiRequest } from '../../http/types.ts'
import type { BlockFetcher } from '../../network/block-fetcher.ts'
import type { ContentPath } from '../http/content-path.ts'
import type { Admission } from '../policy/admission.ts'
import { type ContentOrigin, PinnedContent } from './held-content.ts'
import { NetworkContent } from './network-content.ts'
import { RequestBlocks } from './request-blocks.ts'

/** How far content is that is on its way here to be pinned; null for all other. */
type Arrival = { blocks: number; bytes: number } | null
export type ArrivalOf = (cid: CID) => Arrival | Promise<Arrival>

export interface RootOpenerParts {
  content: LiveContent
  clock: Clock
  admission: Admission
  options: GatewayConfig
  arrivalOf: ArrivalOf
  fetcher: BlockFetcher | null
  limits?: WalkLimits | undefined
}

const RETRIEVAL_SECONDS = 10
const BLOCKS_AHEAD = 16
const ARRIVAL_RETRY_SECONDS = 10

/** Opens the content that a path begins at, if it is to be had and may be served. */
export class RootOpener {
  readonly #parts: RootOpenerParts
  readonly #origins: readonly ContentOrigin[]
  readonly #spareReads = new SpareReads(BLOCKS_AHEAD)
  readonly #nodes = new NodeCache()

  /** @throws HoldfastError `CONFIG_INVALID` for the mode `open` without a network. */
  constructor(parts: RootOpenerParts) {
    this.#parts = parts
    this.#origins = originsOf(parts)
  }

  /**
   * The caller releases what it gets.
   *
   * @throws HoldfastError `CID_NOT_FOUND`; `PRECONDITION_FAILED` if only what is here was wanted; `UNAVAILABLE` for
   * what is on its way or did not come in time; `GONE` or `LEGAL_REASONS` if it is blocked.
   */
  async open(request: ApiRequest, path: ContentPath): Promise<RequestBlocks> {
    const { admission, clock, arrivalOf, limits } = this.#parts
    const rules = await admission.rules()
    rules.checkRoot(path.cid)
    rules.checkBlocked(path.cid, path.names)
    const onlyIfCached = /\bonly-if-cached\b/i.test(request.header('cache-control') ?? '')
    const origins = onlyIfCached ? this.#origins.slice(0, 1) : this.#origins
    const { signal } = request
    const shared = { spareReads: this.#spareReads, nodes: this.#nodes }
    const blocks = await RequestBlocks.open(path.cid, { ...shared, origins, clock, rules, signal, limits })
    if (blocks !== null) return blocks
    const arrival = onlyIfCached ? null : await arrivalOf(path.cid)
    if (arrival !== null) throw onItsWay(path.root, arrival)
    const code = onlyIfCached ? 'PRECONDITION_FAILED' : 'CID_NOT_FOUND'
    throw new HoldfastError(code, `${path.root} is not pinned on this node`)
  }
}

function originsOf({ content, clock, options, fetcher }: RootOpenerParts): ContentOrigin[] {
  const pinned = new PinnedContent(content)
  if (options.mode !== 'open') return [pinned]
  if (fetcher === null) throw new HoldfastError('CONFIG_INVALID', 'gateway.mode: open needs the network')
  const timeoutMs = (options.retrievalTimeoutSeconds ?? RETRIEVAL_SECONDS) * 1000
  return [pinned, new NetworkContent(fetcher, clock, timeoutMs)]
}

function onItsWay(root: string, { blocks, bytes }: { blocks: number; bytes: number }): HoldfastError {
  return new HoldfastError('UNAVAILABLE', `${root} is being fetched: ${blocks} blocks, ${bytes} bytes so far`, {
    details: { retryAfter: ARRIVAL_RETRY_SECONDS, blocks, bytes },
  })
}
