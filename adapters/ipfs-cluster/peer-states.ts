import type { BackendStatus } from '../../src/clusters/cluster-backend.ts'
import { shortened } from '../remote/json-answers.ts'
import type { PinPeers } from './ipfs-cluster-api.ts'

type State = BackendStatus['state']

const STATES = new Map<string, State>([
  ['pinned', 'pinned'],
  ['pinning', 'pinning'],
  ['pin_queued', 'queued'],
  ['pin_error', 'failed'],
  ['unexpectedly_unpinned', 'failed'],
  ['cluster_error', 'failed'],
  ['unpinned', 'unpinned'],
  ['unpinning', 'unpinned'],
  ['unpin_queued', 'unpinned'],
  ['unpin_error', 'unpinned'],
])
/** Statuses of failures that a retry may repair. */
const RECOVERABLE = new Set(['pin_error', 'unexpectedly_unpinned'])
/** Status of a peer that did not answer. */
const UNHEARD = 'cluster_error'
/** Status of a peer to which the pin is not assigned. */
const REMOTE = 'remote'

export class PeerStates {
  readonly #peers: ReadonlyArray<{ peer: string; store: string; status: string; error: string }>
  readonly allocations: BackendStatus['allocations']
  /** Number of complete copies. Peers that share an IPFS node count as one copy. */
  readonly pinned: number

  constructor(peers: PinPeers) {
    this.#peers = Object.entries(peers).flatMap(([peer, { ipfs_peer_id: store, status, error }]) =>
      status === REMOTE ? [] : [{ peer, store: store === undefined || store === '' ? peer : store, status, error }],
    )
    this.allocations = this.#peers.map(({ peer, status, error }) => {
      const state = STATES.get(status) ?? 'failed'
      const details = error === '' ? status : `${status}: ${error}`
      return { peer, state, error: state === 'failed' ? shortened(details) : null }
    })
    this.pinned = new Set(this.#peers.filter(({ status }) => status === 'pinned').map(({ store }) => store)).size
  }

  /** @param needed the number of copies, or -1 for all assigned peers */
  isKept(needed: number): boolean {
    if (needed < 0) return this.pinned > 0 && this.#peers.every(({ status }) => status === 'pinned')
    return this.pinned >= Math.max(needed, 1)
  }

  /** Returns whether the peers have enough copies, if those that did not answer have the content. */
  mayBeKept(needed: number): boolean {
    const unheard = this.#peers.filter(({ status }) => status === UNHEARD).length
    const has = this.#peers.filter(({ status }) => status === 'pinned' || status === UNHEARD).length
    return unheard > 0 && (needed < 0 ? has === this.#peers.length : this.pinned + unheard >= needed)
  }

  get hasFailed(): boolean {
    return this.allocations.some(({ state }) => state === 'failed')
  }

  get isRecoverable(): boolean {
    return this.#peers.some(({ status }) => RECOVERABLE.has(status))
  }

  /** True if a peer has failed and no peer is still working. */
  get isStuck(): boolean {
    return this.hasFailed && !this.allocations.some(({ state }) => state === 'pinning' || state === 'queued')
  }

  /** @param needed the number of copies, or -1 for all assigned peers */
  state(needed: number): State {
    if (this.isKept(needed)) return 'pinned'
    if (this.isStuck) return 'failed'
    const isUnderWay = this.allocations.some(({ state }) => state === 'pinning' || state === 'pinned')
    return isUnderWay ? 'pinning' : 'queued'
  }

  /** Describes the number of copies, and the states of the peers without a copy, for error messages. */
  describe(needed: number): string {
    const wanted = needed < 0 ? this.#peers.length : needed
    const others = this.allocations.filter(({ state }) => state !== 'pinned')
    const details = others.map(({ peer, state, error }) => `${peer} ${error ?? `is ${state}`}`)
    return [`${this.pinned} of ${wanted} peers have it`, ...details].join('; ')
  }
}
