import type { CID } from 'multiformats/cid'
import type { FairGate } from '../concurrency/fair-gate.ts'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import { isOfNothing, matches } from '../ipld/block-hash.ts'
import type { FetchSession } from './block-fetcher.ts'
import { BlockRace } from './block-race.ts'
import type { HostBlocks } from './host-blocks.ts'
import { ProviderState } from './provider-state.ts'
import type { BlockProvider } from './providers/block-provider.ts'

export interface SessionParts {
  owner: string
  /** Providers known at the start. */
  providers: readonly BlockProvider[]
  /** Calls `onPeer` for every connected peer, now and later, until the caller runs the returned function. */
  strangers: (onPeer: (provider: BlockProvider) => void) => () => void
  /** During this time more peers may connect, so no block counts as missing. In ms from the start. */
  lingerMs: number
  /** Searches for more providers of the root; null if the node has no router. */
  discover: ((signal: AbortSignal) => AsyncIterable<BlockProvider>) | null
  host: HostBlocks
  /** Limits the concurrent fetches of all sessions. */
  gate: FairGate
  clock: Clock
  onClose: () => void
}

/** Connected peers that one session asks although no one named them. */
const MOST_STRANGERS = 32

/** The providers of one DAG, with their record in this session: latency, failures, blocks given. */
export class ProviderSession implements FetchSession {
  readonly #parts: SessionParts
  readonly #states = new Map<string, ProviderState>()
  readonly #races = new Set<BlockRace>()
  readonly #end = new AbortController()
  readonly #forgetStrangers: () => void
  readonly #endLingering: () => void
  #isLingering: boolean
  #strangers = 0
  #discovery: 'not begun' | 'running' | 'done'

  constructor(parts: SessionParts) {
    this.#parts = parts
    this.#discovery = parts.discover === null ? 'done' : 'not begun'
    this.#isLingering = parts.lingerMs > 0
    this.#endLingering = this.#isLingering ? parts.clock.after(parts.lingerMs, () => this.#lingered()) : () => undefined
    for (const provider of parts.providers) this.#add(provider)
    this.#forgetStrangers = parts.strangers(provider => {
      if (this.#strangers < MOST_STRANGERS && this.#add(provider)) this.#strangers++
    })
  }

  async get(cid: CID, { signal }: { signal: AbortSignal }): Promise<Uint8Array> {
    signal.throwIfAborted()
    this.#end.signal.throwIfAborted()
    const { host, gate, owner, clock } = this.#parts
    // Some implementations have no empty block, so it is never requested.
    if (isOfNothing(cid.multihash)) return new Uint8Array()
    if (host.mayHave()) {
      const bytes = await host.get(cid)
      if (bytes !== null && (await matches(cid.multihash.bytes, bytes))) return bytes
      signal.throwIfAborted()
      this.#end.signal.throwIfAborted()
    }
    const pass = gate.enter(owner)
    const race = new BlockRace(cid, {
      clock,
      states: () => [...this.#states.values()],
      discover: () => this.#discover(),
      // A slow fetch frees its place at the gate for another.
      onSlow: pass.leave,
    })
    const abort = (): void => race.cancel(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    this.#races.add(race)
    try {
      return await race.run(pass.entered)
    } finally {
      this.#races.delete(race)
      signal.removeEventListener('abort', abort)
      pass.leave()
    }
  }

  providers(): Array<{ provider: string; error: string | null }> {
    return [...this.#states.values()]
      .filter(({ asked }) => asked)
      .map(({ provider, error }) => ({ provider: provider.name, error }))
  }

  close(): void {
    const reason = new HoldfastError('ABORTED', 'the session was closed')
    this.#end.abort(reason)
    this.#forgetStrangers()
    this.#endLingering()
    for (const race of this.#races) race.cancel(reason)
    this.#parts.onClose()
  }

  /** Returns whether the provider is new. */
  #add(provider: BlockProvider): boolean {
    if (this.#states.has(provider.name)) return false
    this.#states.set(provider.name, new ProviderState(provider))
    this.#sourcesChanged()
    return true
  }

  #sourcesChanged(): void {
    for (const race of this.#races) race.sourcesChanged()
  }

  #lingered(): void {
    this.#isLingering = false
    this.#sourcesChanged()
  }

  #discover(): boolean {
    const { discover } = this.#parts
    if (this.#discovery === 'not begun' && discover !== null) {
      this.#discovery = 'running'
      void this.#find(discover)
    }
    return this.#discovery === 'running' || this.#isLingering
  }

  async #find(discover: NonNullable<SessionParts['discover']>): Promise<void> {
    try {
      for await (const provider of discover(this.#end.signal)) this.#add(provider)
    } catch {
      // A router that fails counts as one that found no provider.
    }
    this.#discovery = 'done'
    this.#sourcesChanged()
  }
}
