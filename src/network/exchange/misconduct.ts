import type { Clock } from '../../domain/clock.ts'

/** So many times, less one for each minute that has passed, a peer may do what no honest peer does. */
const MOST_OFFENCES = 8
const FORGIVEN_MS = 60_000
const SHUT_OUT_MS = 10 * 60_000
/** Peers that are remembered; ids cost nothing, so the oldest make room. */
const MOST_PEERS = 4_096

interface Offender {
  offences: number
  at: number
  shutOutUntil: number
}

/** What peers have done that no honest peer does: messages that cannot be read, blocks that nobody asked for. */
export class Misconduct {
  readonly #clock: Clock
  readonly #offenders = new Map<string, Offender>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Notes an offence. Returns whether it was one too many: the peer is shut out for ten minutes then. */
  note(peer: string): boolean {
    const now = this.#clock.now()
    const known = this.#offenders.get(peer) ?? { offences: 0, at: now, shutOutUntil: 0 }
    const forgiven = Math.floor((now - known.at) / FORGIVEN_MS)
    const offences = Math.max(0, known.offences - forgiven) + 1
    const isTooMany = offences >= MOST_OFFENCES
    const shutOutUntil = isTooMany ? now + SHUT_OUT_MS : known.shutOutUntil
    this.#offenders.delete(peer)
    this.#offenders.set(peer, { offences: isTooMany ? 0 : offences, at: now, shutOutUntil })
    const [oldest] = this.#offenders.keys()
    if (this.#offenders.size > MOST_PEERS && oldest !== undefined) this.#offenders.delete(oldest)
    return isTooMany
  }

  isShutOut(peer: string): boolean {
    return (this.#offenders.get(peer)?.shutOutUntil ?? 0) > this.#clock.now()
  }
}
