import type { Placements } from '../catalogue/placements.ts'
import { within } from '../concurrency/deadline.ts'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../domain/errors.ts'
import { orAborted } from '../domain/sources.ts'
import { cidOf, type DagIdentity, dagKey } from '../ipld/cid.ts'
import type { BackendPeer, BackendStatus, ClusterBackend } from './cluster-backend.ts'

/** A place that keeps clusters elsewhere, as it was when it was last looked at, and what it has still to be told. */
export interface ClusterHealth {
  /** The clusters that it keeps. */
  clusters: readonly string[]
  /** The first 64 of its peers; empty where it tells of none. */
  peers: readonly BackendPeer[]
  /** Why it could not be asked; null if it could, or was not yet. */
  error: string | null
  /** In milliseconds since the epoch; null if it was not yet, or has nothing to tell. */
  lookedAt: number | null
  /** DAGs that have still to get there, and that it has to let go of, each counted up to 10,000. */
  pins: number
  unpins: number
  /** Since when the oldest of `pins` waits, in milliseconds since the epoch; null if none does. */
  since: number | null
}

export interface WatchedBackend {
  backend: ClusterBackend
  clusters: readonly string[]
}

export interface ClusterWatchParts {
  /** By their number in the ledger. */
  backends: ReadonlyMap<number, WatchedBackend>
  placements: Pick<Placements, 'lag'>
  clock: Clock
}

type Allocations = BackendStatus['allocations']

const LOOK_MS = 60_000
const PEERS_MS = 10_000
/** How long somebody who asks how far a pin is waits for what its cluster says, and for how long that is said again. */
const STATUS_MS = 3_000
const REMEMBERED_MS = 10_000
const MOST_REMEMBERED = 1_000
const MOST_PEERS = 64

type Looked = Pick<ClusterHealth, 'peers' | 'error' | 'lookedAt'>

/** Looks at clusters that are kept elsewhere: how they are, from time to time, and where a content lies, when asked. */
export class ClusterWatch {
  readonly #parts: ClusterWatchParts
  readonly #looked = new Map<number, Looked>()
  readonly #remembered = new Map<string, { at: number; allocations: Promise<Allocations | null> }>()
  readonly #ending = new AbortController()
  #cancel: () => void = () => undefined

  constructor(parts: ClusterWatchParts) {
    this.#parts = parts
  }

  start(): void {
    if (this.#parts.backends.size > 0) this.#cancel = this.#parts.clock.after(0, () => void this.#look())
  }

  stop(): void {
    this.#ending.abort(new HoldfastError('ABORTED', 'the node is stopping'))
    this.#cancel()
  }

  /** What is known of each. */
  health(): Promise<ClusterHealth[]> {
    const { backends, placements } = this.#parts
    const nothing: Looked = { peers: [], error: null, lookedAt: null }
    return Promise.all(
      [...backends].map(async ([id, { clusters }]) => {
        return { clusters, ...(this.#looked.get(id) ?? nothing), ...(await placements.lag(id)) }
      }),
    )
  }

  /**
   * The peers of a backend that have a content, or are to; none where it tells of none. Null if it could not be asked,
   * or is none of these. Whoever asks again within ten seconds is told the same.
   */
  allocations(backendId: number, dag: DagIdentity): Promise<Allocations | null> {
    const known = this.#parts.backends.get(backendId)
    if (known === undefined) return Promise.resolve(null)
    const now = this.#parts.clock.now()
    const key = `${backendId} ${dagKey(cidOf(dag))}`
    const remembered = this.#remembered.get(key)
    if (remembered !== undefined && now - remembered.at < REMEMBERED_MS) return remembered.allocations
    const allocations = this.#within(STATUS_MS, signal => known.backend.status(dag, signal)).then(
      status => status.allocations.slice(0, MOST_PEERS),
      () => null,
    )
    this.#remembered.delete(key)
    this.#remembered.set(key, { at: now, allocations })
    const [oldest] = this.#remembered.keys()
    if (this.#remembered.size > MOST_REMEMBERED && oldest !== undefined) this.#remembered.delete(oldest)
    return allocations
  }

  async #look(): Promise<void> {
    const { backends, clock } = this.#parts
    await Promise.all([...backends].map(([id, { backend }]) => this.#lookAt(id, backend)))
    if (!this.#ending.signal.aborted) this.#cancel = clock.after(LOOK_MS, () => void this.#look())
  }

  async #lookAt(id: number, backend: ClusterBackend): Promise<void> {
    if (backend.peers === undefined) return
    const ask = backend.peers.bind(backend)
    const lookedAt = this.#parts.clock.now()
    try {
      const peers = await this.#within(PEERS_MS, ask)
      this.#looked.set(id, { peers: peers.slice(0, MOST_PEERS), error: null, lookedAt })
    } catch (error) {
      const reason = isHoldfastError(error) ? error.message : 'it could not be asked'
      this.#looked.set(id, { peers: [], error: reason, lookedAt })
    }
  }

  /** Whatever the backend makes of the signal. */
  async #within<T>(ms: number, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { signal } = this.#ending
    signal.throwIfAborted()
    const late = () => new HoldfastError('UNAVAILABLE', 'it did not answer in time')
    return within({ clock: this.#parts.clock, ms, late, signal }, ended => orAborted(ask(ended), ended))
  }
}
