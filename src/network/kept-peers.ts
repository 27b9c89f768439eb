import type { Libp2p, PeerId } from '@libp2p/interface'
import type { Clock } from '../domain/clock.ts'
import type { Logger } from '../domain/logger.ts'
import type { PeerAddress } from './addresses.ts'
import type { Dialler } from './dialler.ts'

const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 60_000

interface Kept {
  peer: PeerAddress
  failures: number
  cancelTimer: (() => void) | null
}

/** Dials all configured peers at the start, and redials a lost peer with exponential backoff. */
export class KeptPeers {
  readonly #libp2p: Libp2p
  readonly #dialler: Dialler
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #kept: ReadonlyMap<string, Kept>
  #stopped = false

  constructor(
    peers: readonly PeerAddress[],
    parts: { libp2p: Libp2p; dialler: Dialler; clock: Clock; logger: Logger },
  ) {
    this.#libp2p = parts.libp2p
    this.#dialler = parts.dialler
    this.#clock = parts.clock
    this.#logger = parts.logger
    this.#kept = new Map(peers.map(peer => [peer.id.toString(), { peer, failures: 0, cancelTimer: null }]))
  }

  get peers(): PeerAddress[] {
    return [...this.#kept.values()].map(kept => kept.peer)
  }

  start(): void {
    this.#libp2p.addEventListener('peer:disconnect', this.#onDisconnect)
    for (const kept of this.#kept.values()) this.#dial(kept)
  }

  stop(): void {
    this.#stopped = true
    this.#libp2p.removeEventListener('peer:disconnect', this.#onDisconnect)
    for (const { cancelTimer } of this.#kept.values()) cancelTimer?.()
  }

  readonly #onDisconnect = ({ detail }: CustomEvent<PeerId>): void => {
    const kept = this.#kept.get(detail.toString())
    if (kept !== undefined) this.#dialLater(kept)
  }

  #dial(kept: Kept): void {
    this.#dialler
      .connect(kept.peer)
      .then(isConnected => {
        if (isConnected) kept.failures = 0
        else this.#dialLater(kept)
      })
      .catch((error: unknown) => this.#logger.error({ err: error }, 'cannot dial a configured peer'))
  }

  #dialLater(kept: Kept): void {
    if (this.#stopped || kept.cancelTimer !== null) return
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** kept.failures, LONGEST_PAUSE_MS)
    kept.failures++
    if (kept.failures === 1) this.#logger.info({ peer: kept.peer.id.toString() }, 'a configured peer is not connected')
    kept.cancelTimer = this.#clock.after(pause, () => {
      kept.cancelTimer = null
      this.#dial(kept)
    })
  }
}
