import type { Clock } from '../../domain/clock.ts'

const MOST_OFFENCES = 8
/** Time without an offence after which one earlier offence is forgiven. */
const FORGIVEN_MS = 60_000
const BAN_MS = 10 * 60_000
/** Peer ids are free to create. At this limit, the peers with the oldest offences are forgotten. */
const MOST_PEERS = 4_096

interface Offender {
  offences: number
  at: number
  bannedUntil: number
}

/** An offence is a malformed message or an unrequested block. */
export class Misconduct {
  readonly #clock: Clock
  readonly #offenders = new Map<string, Offender>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Returns true after too many offences, and bans the peer for ten minutes. */
  note(peer: string): boolean {
    const now = this.#clock.now()
    const known = this.#offenders.get(peer) ?? { offences: 0, at: now, bannedUntil: 0 }
    const forgiven = Math.floor((now - known.at) / FORGIVEN_MS)
    const offences = Math.max(0, known.offences - forgiven) + 1
    const isTooMany = offences >= MOST_OFFENCES
    const bannedUntil = isTooMany ? now + BAN_MS : known.bannedUntil
    this.#offenders.delete(peer)
    this.#offenders.set(peer, { offences: isTooMany ? 0 : offences, at: now, bannedUntil })
    const [oldest] = this.#offenders.keys()
    if (this.#offenders.size > MOST_PEERS && oldest !== undefined) this.#offenders.delete(oldest)
    return isTooMany
  }

  isBanned(peer: string): boolean {
    return (this.#offenders.get(peer)?.bannedUntil ?? 0) > this.#clock.now()
  }
}
