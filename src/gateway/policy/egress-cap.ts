import type { CID } from 'multiformats/cid'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { Payment } from './egress-tally.ts'

/** An answer is used for this long. */
const FRESH_MS = 10_000
/** A request waits no longer for an answer. */
const WAIT_MS = 1_000
const MOST_CIDS = 10_000
/** Bytes that a response of unknown length reserves at its begin, and again each time it has sent them. */
const STREAM_BYTES = 16 * 1024 ** 2

/** An account that may pay for content. All threads share `left`. */
export interface Payer {
  accountId: string
  /**
   * Bytes that the account may still begin to send in this month, then those that each thread has taken. Null without a
   * limit.
   */
  left: BigInt64Array | null
}

/** Content that a response reads: its CID, and the root of this node that made it readable. */
export interface PaidContent {
  cid: CID
  rootId: number
}

/** Finds the accounts that may pay for content, in the order in which they pay. */
export type FindPayers = (content: PaidContent) => Promise<readonly Payer[]>

interface Known {
  at: number
  /** Null if the state is unknown. */
  payers: Promise<readonly Payer[] | null>
}

/** Lets accounts pay for responses, and refuses content that no account can pay. An unknown state allows the content. */
export class EgressCap {
  readonly #clock: Clock
  readonly #find: FindPayers
  readonly #holder: number
  readonly #known = new Map<string, Known>()

  /** @param holder number of this thread, 0 for the thread of the engine */
  constructor(clock: Clock, find: FindPayers, holder = 0) {
    this.#clock = clock
    this.#find = find
    this.#holder = holder
  }

  /**
   * @param isOwn true for a read by an account of its own content, which the account pays
   * @throws HoldfastError `RATE_LIMIT` if all accounts that may pay have sent the bytes of their plans
   */
  async payersOf(content: PaidContent, isOwn = false): Promise<Payers> {
    const payers = await this.#payersOf(content, isOwn ? `${content.cid} ${content.rootId}` : content.cid.toString())
    const found = new Payers(content, { payers: payers ?? [], holder: this.#holder, spent: () => this.#spent() })
    found.check()
    return found
  }

  #payersOf(content: PaidContent, key: string): Promise<readonly Payer[] | null> {
    const now = this.#clock.now()
    const known = this.#known.get(key)
    if (known !== undefined && now - known.at < FRESH_MS) return known.payers
    // Inserted last, so that the first entry is the oldest.
    this.#known.delete(key)
    const oldest = this.#known.size >= MOST_CIDS ? this.#known.keys().next().value : undefined
    if (oldest !== undefined) this.#known.delete(oldest)
    const payers = this.#ask(content)
    this.#known.set(key, { at: now, payers })
    return payers
  }

  async #ask(content: PaidContent): Promise<readonly Payer[] | null> {
    const { promise: late, resolve } = Promise.withResolvers<null>()
    const cancel = this.#clock.after(WAIT_MS, () => resolve(null))
    const asked = this.#find(content).catch(() => null)
    return Promise.race([asked, late]).finally(cancel)
  }

  #spent(): HoldfastError {
    const message = 'every account of this content has sent the bytes that its plan allows in a month'
    return new HoldfastError('RATE_LIMIT', message, { details: { retryAfter: secondsOfMonth(this.#clock.now()) } })
  }
}

/** The accounts that may pay for one response. */
export class Payers {
  readonly #content: PaidContent
  readonly #payers: readonly Payer[]
  readonly #holder: number
  readonly #spent: () => HoldfastError

  constructor(
    content: PaidContent,
    { payers, holder, spent }: { payers: readonly Payer[]; holder: number; spent: () => HoldfastError },
  ) {
    this.#content = content
    this.#payers = payers
    this.#holder = holder
    this.#spent = spent
  }

  /** @throws HoldfastError `RATE_LIMIT` if no account can pay */
  check(): void {
    const canPay = ({ left }: Payer): boolean => left === null || Atomics.load(left, 0) > 0n
    if (this.#payers.length > 0 && !this.#payers.some(canPay)) throw this.#spent()
  }

  /**
   * Reserves the bytes of a response with the first account that can pay. An account can pay if any bytes are left, so
   * the last response of a month may exceed the limit.
   *
   * @param length in bytes; null if it is unknown
   * @throws HoldfastError `RATE_LIMIT` if no account can pay
   */
  begin(length: number | null): EgressCharge {
    const bytes = length ?? STREAM_BYTES
    for (const { accountId, left } of this.#payers) {
      if (left === null) return { payment: { accountId }, sending: null, end: () => undefined }
      const taken = new TakenBytes(left, this.#holder)
      if (taken.take(bytes)) return new LimitedCharge(accountId, { taken, bytes, length })
      taken.take(-bytes)
    }
    if (this.#payers.length > 0) throw this.#spent()
    const { rootId } = this.#content
    return { payment: { rootId }, sending: null, end: () => undefined }
  }
}

/** A response that an account pays. */
export interface EgressCharge {
  readonly payment: Payment
  /** Called with the bytes that are being sent. Null if the reservation does not depend on them. */
  readonly sending: ((bytes: number) => void) | null
  /** Replaces the reservation by the bytes that were sent. Called once. */
  end(sent: number): void
}

class LimitedCharge implements EgressCharge {
  readonly payment: Payment
  readonly sending: EgressCharge['sending']
  readonly #taken: TakenBytes
  #reserved: number
  #sent = 0

  constructor(
    accountId: string,
    { taken, bytes, length }: { taken: TakenBytes; bytes: number; length: number | null },
  ) {
    this.payment = { accountId }
    this.#taken = taken
    this.#reserved = bytes
    this.sending = length === null ? sent => this.#add(sent) : null
  }

  end(sent: number): void {
    this.#reserve(sent - this.#reserved)
  }

  #add(sent: number): void {
    this.#sent += sent
    if (this.#sent > this.#reserved) this.#reserve(STREAM_BYTES)
  }

  #reserve(bytes: number): void {
    this.#reserved += bytes
    this.#taken.take(bytes)
  }
}

/** The bytes of an account that one thread has taken. If the thread crashes, the engine gives them back. */
class TakenBytes {
  readonly #left: BigInt64Array
  readonly #holder: number

  constructor(left: BigInt64Array, holder: number) {
    this.#left = left
    this.#holder = holder
  }

  /** Returns true if the account had bytes left before. */
  take(bytes: number): boolean {
    if (this.#holder !== 0) Atomics.add(this.#left, this.#holder, BigInt(bytes))
    return Atomics.sub(this.#left, 0, BigInt(bytes)) > 0n
  }
}

/** Returns the seconds until the next month in UTC. */
function secondsOfMonth(now: number): number {
  const date = new Date(now)
  return Math.ceil((Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1) - now) / 1_000)
}
