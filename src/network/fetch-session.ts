import type { CID } from 'multiformats/cid'
import { isOfNothing, matches } from '../domain/block-hash.ts'
import type { Clock } from '../domain/clock.ts'
import type { FairGate } from '../domain/concurrency/fair-gate.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { FetchSession } from './block-fetcher.ts'
import { BlockRace } from './block-race.ts'
import type { OwnBlocks } from './own-blocks.ts'
import { SourceState } from './source-state.ts'
import type { BlockSource } from './sources/block-source.ts'

export interface SessionParts {
  owner: string
  /** Those to begin with. */
  sources: readonly BlockSource[]
  /** Tells of the peers that are connected, whoever they are, now and later; until the returned function is called. */
  strangers: (onPeer: (source: BlockSource) => void) => () => void
  /** Looks for others who have the root; null where there is no router. */
  discover: ((signal: AbortSignal) => AsyncIterable<BlockSource>) | null
  own: OwnBlocks
  /** Bounds the blocks on their way over all sessions. */
  gate: FairGate
  clock: Clock
  onClose: () => void
}

/** Strangers are asked, but not without end. */
const MOST_STRANGERS = 32

/** The sources of one DAG, and what was learned of each while its blocks were fetched. */
export class SourceSession implements FetchSession {
  readonly #parts: SessionParts
  readonly #states = new Map<string, SourceState>()
  readonly #races = new Set<BlockRace>()
  readonly #end = new AbortController()
  readonly #forgetStrangers: () => void
  #strangers = 0
  #discovery: 'not begun' | 'running' | 'done'

  constructor(parts: SessionParts) {
    this.#parts = parts
    this.#discovery = parts.discover === null ? 'done' : 'not begun'
    for (const source of parts.sources) this.#add(source)
    this.#forgetStrangers = parts.strangers(source => {
      if (this.#strangers < MOST_STRANGERS && this.#add(source)) this.#strangers++
    })
  }

  async get(cid: CID, { signal }: { signal: AbortSignal }): Promise<Uint8Array> {
    signal.throwIfAborted()
    this.#end.signal.throwIfAborted()
    const { own, gate, owner, clock } = this.#parts
    // Some implementations hold that a block of no bytes cannot be there.
    if (isOfNothing(cid.multihash)) return new Uint8Array()
    if (own.mayHave()) {
      const bytes = await own.get(cid)
      if (bytes !== null && (await matches(cid.multihash.bytes, bytes))) return bytes
      signal.throwIfAborted()
      this.#end.signal.throwIfAborted()
    }
    const pass = gate.enter(owner)
    const race = new BlockRace(cid, {
      clock,
      states: () => [...this.#states.values()],
      discover: () => this.#discover(),
      // What hangs makes room for what moves.
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

  sources(): Array<{ source: string; error: string | null }> {
    return [...this.#states.values()]
      .filter(({ asked }) => asked)
      .map(({ source, error }) => ({ source: source.name, error }))
  }

  close(): void {
    const reason = new HoldfastError('ABORTED', 'the session was closed')
    this.#end.abort(reason)
    this.#forgetStrangers()
    for (const race of this.#races) race.cancel(reason)
    this.#parts.onClose()
  }

  /** Whether the source is new. */
  #add(source: BlockSource): boolean {
    if (this.#states.has(source.name)) return false
    this.#states.set(source.name, new SourceState(source))
    this.#sourcesChanged()
    return true
  }

  #sourcesChanged(): void {
    for (const race of this.#races) race.sourcesChanged()
  }

  #discover(): boolean {
    const { discover } = this.#parts
    if (this.#discovery === 'not begun' && discover !== null) {
      this.#discovery = 'running'
      void this.#find(discover)
    }
    return this.#discovery === 'running'
  }

  async #find(discover: NonNullable<SessionParts['discover']>): Promise<void> {
    try {
      for await (const source of discover(this.#end.signal)) this.#add(source)
    } catch {
      // A router that fails has found nobody more.
    }
    this.#discovery = 'done'
    this.#sourcesChanged()
  }
}
