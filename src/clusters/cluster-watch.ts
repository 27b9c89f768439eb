import type { Placements } from '../catalogue/placements.ts'
import { within } from '../concurrency/deadline.ts'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../domain/errors.ts'
import { orAborted } from '../domain/sources.ts'
import { cidOf, type DagIdentity, dagKey } from '../ipld/cid.ts'
import type { BackendPeer, BackendStatus, ClusterBackend } from './cluster-backend.ts'

/** Health of an external system at its last check, and its waiting pins and unpins. */
export interface ClusterHealth {
  clusters: readonly string[]
  /** The first 64 peers of the system. */
  peers: readonly BackendPeer[]
  /** Reason why the last check failed. */
  error: string | null
  /** Time of the last check in ms since the epoch. */
  lookedAt: number | null
  /** DAGs that wait to be pinned, counted up to 10,000. */
  pins: number
  /** DAGs that wait to be unpinned, counted up to 10,000. */
  unpins: number
  /** Time at which the oldest waiting pin was requested, in ms since the epoch. */
  since: number | null
}

export interface WatchedBackend {
  backend: ClusterBackend
  clusters: readonly string[]
}

export interface ClusterWatchParts {
  backends: ReadonlyMap<number, WatchedBackend>
  placements: Pick<Placements, 'lag'>
  clock: Clock
}

type Allocations = BackendStatus['allocations']

const CHECK_MS = 60_000
const PEERS_MS = 10_000
const STATUS_MS = 3_000
const CACHE_MS = 10_000
const MOST_CACHED = 1_000
const MOST_PEERS = 64

type Checked = Pick<ClusterHealth, 'peers' | 'error' | 'lookedAt'>

export class ClusterWatch {
  readonly #parts: ClusterWatchParts
  readonly #checked = new Map<number, Checked>()
  readonly #cache = new Map<string, { at: number; allocations: Promise<Allocations | null> }>()
  readonly #ending = new AbortController()
  #cancel: () => void = () => undefined

  constructor(parts: ClusterWatchParts) {
    this.#parts = parts
  }

  start(): void {
    if (this.#parts.backends.size > 0) this.#cancel = this.#parts.clock.after(0, () => void this.#checkAll())
  }

  stop(): void {
    this.#ending.abort(new HoldfastError('ABORTED', 'the node is stopping'))
    this.#cancel()
  }

  health(): Promise<ClusterHealth[]> {
    const { backends, placements } = this.#parts
    const nothing: Checked = { peers: [], error: null, lookedAt: null }
    return Promise.all(
      [...backends].map(async ([id, { clusters }]) => {
        return { clusters, ...(this.#checked.get(id) ?? nothing), ...(await placements.lag(id)) }
      }),
    )
  }

  /**
   * Returns the peers of a backend that keep a DAG or should keep it. Returns null if the backend is not external or
   * does not answer.
   */
  allocations(backendId: number, dag: DagIdentity): Promise<Allocations | null> {
    const known = this.#parts.backends.get(backendId)
    if (known === undefined) return Promise.resolve(null)
    const now = this.#parts.clock.now()
    const key = keyOf(backendId, dag)
    const cached = this.#cache.get(key)
    if (cached !== undefined && now - cached.at < CACHE_MS) return cached.allocations
    const allocations = this.#within(STATUS_MS, signal => known.backend.status(dag, signal)).then(
      status => status.allocations.slice(0, MOST_PEERS),
      () => null,
    )
    this.#cache.delete(key)
    this.#cache.set(key, { at: now, allocations })
    const [oldest] = this.#cache.keys()
    if (this.#cache.size > MOST_CACHED && oldest !== undefined) this.#cache.delete(oldest)
    return allocations
  }

  /** Drops the cached peers of a DAG. */
  forget(backendId: number, dag: DagIdentity): void {
    this.#cache.delete(keyOf(backendId, dag))
  }

  async #checkAll(): Promise<void> {
    const { backends, clock } = this.#parts
    await Promise.all([...backends].map(([id, { backend }]) => this.#check(id, backend)))
    if (!this.#ending.signal.aborted) this.#cancel = clock.after(CHECK_MS, () => void this.#checkAll())
  }

  async #check(id: number, backend: ClusterBackend): Promise<void> {
    if (backend.peers === undefined) return
    const ask = backend.peers.bind(backend)
    const lookedAt = this.#parts.clock.now()
    try {
      const peers = await this.#within(PEERS_MS, ask)
      this.#checked.set(id, { peers: peers.slice(0, MOST_PEERS), error: null, lookedAt })
    } catch (error) {
      const reason = isHoldfastError(error) ? error.message : 'the check failed'
      this.#checked.set(id, { peers: [], error: reason, lookedAt })
    }
  }

  /** Asks a backend within a time limit, which also applies if the backend ignores the signal. */
  async #within<T>(ms: number, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { signal } = this.#ending
    signal.throwIfAborted()
    const late = () => new HoldfastError('UNAVAILABLE', 'it did not answer in time')
    return within({ clock: this.#parts.clock, ms, late, signal }, ended => orAborted(ask(ended), ended))
  }
}

function keyOf(backendId: number, dag: DagIdentity): string {
  return `${backendId} ${dagKey(cidOf(dag))}`
}
