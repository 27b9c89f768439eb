import type { BackendStatus } from '../../src/clusters/cluster-backend.ts'
import { shortened } from '../remote/json-answers.ts'
import type { PinPeers } from './ipfs-cluster-api.ts'

type State = BackendStatus['state']

/** By what a peer says of itself. */
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
/** What a peer that has failed is to be asked to try again for. */
const RECOVERABLE = new Set(['pin_error', 'unexpectedly_unpinned'])
/** Nobody could ask it. */
const UNHEARD = 'cluster_error'
/** It is not to hold it. */
const REMOTE = 'remote'

/** What the peers say of a pin, by which the cluster is judged. */
export class PeerStates {
  readonly #peers: ReadonlyArray<{ peer: string; store: string; status: string; error: string }>
  /** What a peer of the backend each says; those that are not to hold it are left out. */
  readonly allocations: BackendStatus['allocations']
  /** Peers on stores of their own that have all of it. */
  readonly pinned: number

  constructor(peers: PinPeers) {
    this.#peers = Object.entries(peers).flatMap(([peer, { ipfs_peer_id: store, status, error }]) =>
      status === REMOTE ? [] : [{ peer, store: store === undefined || store === '' ? peer : store, status, error }],
    )
    this.allocations = this.#peers.map(({ peer, status, error }) => {
      const state = STATES.get(status) ?? 'failed'
      const said = error === '' ? status : `${status}: ${error}`
      return { peer, state, error: state === 'failed' ? shortened(said) : null }
    })
    // Two peers over one IPFS are one copy.
    this.pinned = new Set(this.#peers.filter(({ status }) => status === 'pinned').map(({ store }) => store)).size
  }

  /** @param needed peers; -1 for all who are to hold it */
  isKept(needed: number): boolean {
    if (needed < 0) return this.pinned > 0 && this.#peers.every(({ status }) => status === 'pinned')
    return this.pinned >= Math.max(needed, 1)
  }

  /** Whether it may be kept by peers that could not be asked. */
  mayBeKept(needed: number): boolean {
    const unheard = this.#peers.filter(({ status }) => status === UNHEARD).length
    const has = this.#peers.filter(({ status }) => status === 'pinned' || status === UNHEARD).length
    return unheard > 0 && (needed < 0 ? has === this.#peers.length : this.pinned + unheard >= needed)
  }

  get hasFailed(): boolean {
    return this.allocations.some(({ state }) => state === 'failed')
  }

  /** Whether asking some peer to try again may help. */
  get isRecoverable(): boolean {
    return this.#peers.some(({ status }) => RECOVERABLE.has(status))
  }

  /** Whether there is nothing to wait for before somebody does something. */
  get isStuck(): boolean {
    return this.hasFailed && !this.allocations.some(({ state }) => state === 'pinning' || state === 'queued')
  }

  /** @param needed as for {@link isKept} */
  state(needed: number): State {
    if (this.isKept(needed)) return 'pinned'
    if (this.isStuck) return 'failed'
    const isUnderWay = this.allocations.some(({ state }) => state === 'pinning' || state === 'pinned')
    return isUnderWay ? 'pinning' : 'queued'
  }

  /** For people: how many have it, and what the others say. */
  describe(needed: number): string {
    const wanted = needed < 0 ? this.#peers.length : needed
    const others = this.allocations.filter(({ state }) => state !== 'pinned')
    const said = others.map(({ peer, state, error }) => `${peer} ${error ?? `is ${state}`}`)
    return [`${this.pinned} of ${wanted} peers have it`, ...said].join('; ')
  }
}
