import { LRUCache } from 'lru-cache'
import type { CID } from 'multiformats/cid'
import { within } from '../../concurrency/deadline.ts'
import { hasLinks } from '../../content/dag/links.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { HASH } from '../../ipld/cid.ts'
import type { BlockFetcher, FetchSession } from '../../network/block-fetcher.ts'
import type { ContentOrigin, HeldContent } from './request-blocks.ts'

/** Size of the cache. Leaves are not cached, because paths and ranges reuse only blocks with links. */
const CACHE_BYTES = 32 * 1024 ** 2
/** Memory of an entry without its block. Otherwise tiny blocks would fill many times the memory. */
const ENTRY_BYTES = 1_024

/** The fetcher shares its capacity fairly between owners. */
const OWNER = 'gateway'

/** Content that is fetched for one response and never stored. */
export class NetworkContent implements ContentOrigin {
  readonly isForRecords = false
  readonly #fetcher: BlockFetcher
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #nodes = new LRUCache<string, Uint8Array>({
    maxSize: CACHE_BYTES,
    sizeCalculation: bytes => bytes.length + ENTRY_BYTES,
  })

  constructor(fetcher: BlockFetcher, clock: Clock, timeoutMs: number) {
    this.#fetcher = fetcher
    this.#clock = clock
    this.#timeoutMs = timeoutMs
  }

  async open(root: CID, signal: AbortSignal): Promise<HeldContent | null> {
    if (root.multihash.code === HASH.identity || !this.#fetcher.canAsk([])) return null
    const session = await this.#fetcher.open(root, { origins: [], signal, owner: OWNER })
    return {
      isLocal: false,
      liveUntil: null,
      get: cid => this.#get(session, cid, signal),
      sizeOf: () => null,
      release: () => session.close(),
    }
  }

  async #get(session: FetchSession, cid: CID, signal: AbortSignal): Promise<Uint8Array> {
    if (cid.multihash.code === HASH.identity) return cid.multihash.digest
    const key = cid.toString()
    const kept = this.#nodes.get(key)
    if (kept !== undefined) return kept
    const late = (): HoldfastError => notInTime(cid, this.#timeoutMs)
    const bytes = await within({ clock: this.#clock, ms: this.#timeoutMs, late, signal }, ended => {
      return session.get(cid, { signal: ended })
    })
    if (hasLinks(cid)) this.#nodes.set(key, bytes)
    return bytes
  }
}

function notInTime(cid: CID, ms: number): HoldfastError {
  return new HoldfastError('UNAVAILABLE', `the network did not deliver ${cid} within ${ms / 1000} s`, {
    details: { retryAfter: 30 },
  })
}
