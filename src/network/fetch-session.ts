import type { CID } from 'multiformats/cid'
import type { Semaphore } from '../concurrency/capacity/semaphore.ts'
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
  providers: readonly BlockProvider[]
  /** Calls `onPeer` for every peer that is connected or connects later. Returns a function that removes `onPeer`. */
  strangers: (onPeer: (provider: BlockProvider) => void) => () => void
  /** Peers may still connect during this time. Until its end, no block counts as missing. */
  lingerMs: number
  /** Null if the node has no router. */
  discover: ((signal: AbortSignal) => AsyncIterable<BlockProvider>) | null
  host: HostBlocks
  gate: Semaphore
  clock: Clock
  onClose: () => void
}

/** Limits the peers that a session asks although neither the request nor the configuration names them. */
const MOST_STRANGERS = 32

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
    // Some IPFS implementations do not store the empty block.
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
      // A slow fetch gives its slot to another fetch.
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

  /** Returns false if the session already has a provider of this name. */
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
      // A failed search counts as a search that found no provider.
    }
    this.#discovery = 'done'
    this.#sourcesChanged()
  }
}
