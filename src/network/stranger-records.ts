import type { PeerId, PeerStore } from '@libp2p/interface'
import type { Datastore, Key } from 'interface-datastore'
import { nextTurn, turnSpent } from '../concurrency/turns.ts'
import type { Clock } from '../domain/clock.ts'
import { DatastoreLayer, type DatastoreOptions } from './datastore-layer.ts'

/** Maximum number of records on disk that any peer can create, by the prefix of their keys. */
const MOST_RECORDS = new Map([
  ['/peers/', 4_096],
  ['/dht/record/', 1_024],
  ['/dht/provider/', 1_000_000],
])
const SWEEP_EVERY_MS = 3_600_000

export interface KnownPeers {
  peerId: PeerId
  peerStore: Pick<PeerStore, 'forEach'>
}

/**
 * Limits the records of strangers on disk. Peer ids are free to create, and libp2p deletes the expired record of a peer
 * only when it reads it. A new record beyond the limit is not stored.
 */
export class StrangerRecords extends DatastoreLayer {
  readonly #clock: Clock
  readonly #counts = new Map<string, number>()
  /** End of the keys of this node's own provider records, which have no limit. */
  #own: string | null = null
  #stopped = false
  #sweep: () => void = () => undefined
  #sweeping: Promise<void> = Promise.resolve()
  #sweptAt = 0

  constructor(store: Datastore, clock: Clock) {
    super(store)
    this.#clock = clock
  }

  /** Deletes expired peers and counts all records, now and once an hour if peers connect. Resolves after the first time. */
  start(peers: KnownPeers, onError: (error: unknown) => void): Promise<void> {
    this.#own = `/${peers.peerId}`
    this.#sweep = () => {
      this.#sweptAt = this.#clock.now()
      this.#sweeping = this.#sweepOnce(peers.peerStore).catch(onError)
    }
    this.#sweep()
    return this.#sweeping
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#sweeping
  }

  async put(key: Key, value: Uint8Array, options?: DatastoreOptions): Promise<Key> {
    const name = key.toString()
    const [prefix, most] = limitOf(name)
    if (prefix === null || this.#isOwn(name)) return this.store.put(key, value, options)
    if (!this.#stopped && this.#clock.now() - this.#sweptAt >= SWEEP_EVERY_MS) this.#sweep()
    const isNew = !(await this.store.has(key, options))
    const count = this.#counts.get(prefix) ?? 0
    if (isNew && count >= most) return key
    if (isNew) this.#counts.set(prefix, count + 1)
    return this.store.put(key, value, options)
  }

  #isOwn(name: string): boolean {
    return this.#own !== null && name.endsWith(this.#own)
  }

  async #sweepOnce(peers: KnownPeers['peerStore']): Promise<void> {
    // The library deletes each expired record that it comes by.
    await peers.forEach(() => {})
    for (const prefix of MOST_RECORDS.keys()) {
      let count = 0
      for await (const _ of this.store.queryKeys({ prefix })) {
        if (this.#stopped) return
        if (turnSpent()) await nextTurn()
        count++
      }
      this.#counts.set(prefix, count)
    }
  }
}

function limitOf(name: string): [prefix: string | null, most: number] {
  for (const [prefix, most] of MOST_RECORDS) if (name.startsWith(prefix)) return [prefix, most]
  return [null, Number.POSITIVE_INFINITY]
}
