import type { CID } from 'multiformats/cid'
import * as Digest from 'multiformats/hashes/digest'
import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import type { Clock } from '../../domain/clock.ts'
import { digestOf } from '../../ipld/block-hash.ts'
import { cidOfBytes } from '../../ipld/cid.ts'
import { readVarint } from '../../ipld/varint.ts'
import { noteLone } from '../lone-blocks.ts'
import { keyOfCid, keyOfMultihash } from './block-keys.ts'
import { type ExchangeMessage, emptyMessage, type SentBlock } from './message.ts'
import type { PeerChannel } from './peer-channel.ts'

/** What a peer answered. `lost`: it can no longer be asked. `wrong`: it sent what nobody had asked for. */
export type PeerAnswer =
  | { kind: 'block'; bytes: Uint8Array }
  | { kind: 'has' }
  | { kind: 'missing' }
  | { kind: 'lost'; reason: string }
  | { kind: 'wrong' }

/** A question under way. */
export interface Asked {
  answer: Promise<PeerAnswer>
  /** Asks no longer; the answer then never comes. */
  cancel(): void
}

interface Waiter {
  presence: boolean
  tell: (answer: PeerAnswer) => void
}

interface Entry {
  cid: CID
  waiters: Set<Waiter>
  /** What the peer has been asked, or null before that. */
  sent: 'presence' | 'block' | null
}

/** Blocks may still come for this many wants after they were settled. */
const REMEMBERED = 2_048
/** Up to here a block is hashed where it is. */
const SMALL_BYTES = 32 * 1024
/** Cancels wait this long for wants to travel with. */
const CANCEL_DELAY_MS = 50

/**
 * What we want of one peer. Wants that come up together go in one message; each is answered by the block, by word
 * that the peer does not have it, or by the loss of the peer.
 */
export class PeerWants {
  readonly #channel: PeerChannel
  readonly #clock: Clock
  readonly #hash: typeof digestOf
  readonly #entries = new Map<string, Entry>()
  readonly #unsent = new Set<string>()
  /** No longer wanted: a peer that forgets it can be asked for it again. */
  readonly #cancels = new Map<string, CID>()
  readonly #settled = new Set<string>()
  #flushing = false
  #gone = false
  #cancelTimer: (() => void) | null = null

  /** @param hash of large blocks, off the event loop */
  constructor(channel: PeerChannel, clock: Clock, hash: typeof digestOf = digestOf) {
    this.#channel = channel
    this.#clock = clock
    this.#hash = hash
  }

  /** @param presence asks only whether the peer has it, though it may send a small block at once */
  ask(cid: CID, presence: boolean): Asked {
    const key = keyOfCid(cid)
    const known = this.#entries.get(key)
    const entry: Entry = known ?? { cid, waiters: new Set(), sent: null }
    if (known === undefined) this.#entries.set(key, entry)
    const { promise: answer, resolve: tell } = Promise.withResolvers<PeerAnswer>()
    const waiter: Waiter = { presence, tell }
    entry.waiters.add(waiter)
    if (entry.sent === null || (entry.sent === 'presence' && !presence)) {
      this.#unsent.add(key)
      this.#flushSoon()
    }
    return { answer, cancel: () => this.#leave(key, entry, waiter) }
  }

  /** How many blocks, or words about them, the peer can have for us; there is no reason for more in a message. */
  get expected(): number {
    return this.#entries.size + this.#settled.size
  }

  /**
   * Takes what the peer has sent. Returns false at the first block that nobody has asked for: the rest is not looked
   * at.
   */
  async receive({ presences, blocks }: Pick<ExchangeMessage, 'presences' | 'blocks'>): Promise<boolean> {
    const large: Array<Promise<boolean>> = []
    for (const block of blocks) {
      if (turnSpent()) await nextTurn()
      if (this.#gone || this.expected === 0) break
      // Those are hashed in threads, side by side.
      if (block.data.length > SMALL_BYTES) large.push(this.#take(block, blocks.length === 1))
      else if (!(await this.#take(block, false))) return false
    }
    const wereWanted = await Promise.all(large)
    // After the blocks: that one is missing may end what the others are for.
    for (const { cid, has } of presences) {
      if (turnSpent()) await nextTurn()
      this.#told(keyOfCid(cidOfBytes(cid)), has)
    }
    return wereWanted.every(wasWanted => wasWanted)
  }

  /** What the peer sent was lost or cannot be read: it has to be asked again. */
  interrupted(reason: string): void {
    this.#answerAll({ kind: 'lost', reason })
  }

  /** The peer is gone: everything that it was asked is answered so. */
  lost(reason: string): void {
    this.#gone = true
    this.#cancelTimer?.()
    this.#cancels.clear()
    this.#answerAll({ kind: 'lost', reason })
  }

  #told(key: string, has: boolean): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    if (!has) {
      this.#settle(key, entry, { kind: 'missing' })
      return
    }
    for (const waiter of entry.waiters) {
      if (!waiter.presence) continue
      entry.waiters.delete(waiter)
      waiter.tell({ kind: 'has' })
    }
    if (entry.waiters.size > 0) return
    this.#forget(key, entry)
    // A peer that has told so has forgotten the want; a want for the block itself usually follows at once.
    this.#cancels.delete(key)
  }

  /**
   * Whether the block is, or was, asked for.
   *
   * @param isAlone whether it is the only one in its message
   */
  async #take(block: SentBlock, isAlone: boolean): Promise<boolean> {
    const key = await hashedKey(block, block.data.length > SMALL_BYTES ? this.#hash : digestOf)
    const entry = key === null ? undefined : this.#entries.get(key)
    if (key !== null && entry !== undefined) {
      const bytes = ofItsOwn(block.data)
      if (isAlone && entry.waiters.size === 1) noteLone(bytes)
      this.#settle(key, entry, { kind: 'block', bytes })
      return true
    }
    // One that comes late comes once.
    if (key !== null && this.#settled.delete(key)) return true
    this.#answerAll({ kind: 'wrong' })
    return false
  }

  #leave(key: string, entry: Entry, waiter: Waiter): void {
    if (!entry.waiters.delete(waiter) || entry.waiters.size > 0) return
    this.#forget(key, entry)
  }

  #settle(key: string, entry: Entry, answer: PeerAnswer): void {
    this.#forget(key, entry)
    for (const waiter of entry.waiters) waiter.tell(answer)
    entry.waiters.clear()
  }

  #answerAll(answer: PeerAnswer): void {
    for (const [key, entry] of this.#entries) this.#settle(key, entry, answer)
  }

  #forget(key: string, entry: Entry): void {
    if (this.#entries.get(key) !== entry) return
    this.#entries.delete(key)
    this.#unsent.delete(key)
    if (entry.sent === null || this.#gone) return
    this.#settled.delete(key)
    this.#settled.add(key)
    for (const oldest of this.#settled) {
      if (this.#settled.size <= REMEMBERED) break
      this.#settled.delete(oldest)
    }
    this.#cancels.set(key, entry.cid)
    this.#cancelTimer ??= this.#clock.after(CANCEL_DELAY_MS, () => {
      this.#cancelTimer = null
      this.#flushSoon()
    })
  }

  #flushSoon(): void {
    if (this.#flushing) return
    this.#flushing = true
    setImmediate(() => {
      this.#flush().catch((error: unknown) => {
        this.#answerAll({ kind: 'lost', reason: error instanceof Error ? error.message : String(error) })
      })
    })
  }

  /** Sends what has come up, and then what has come up in the turn after that: each message costs far more than its wants. */
  async #flush(): Promise<void> {
    try {
      while (this.#unsent.size > 0 || (this.#cancels.size > 0 && this.#cancelTimer === null)) {
        this.#cancelTimer?.()
        this.#cancelTimer = null
        const cancels = this.#takeCancels()
        // A peer may merge what one message says twice of a block, so a renewed want follows its cancel.
        const renews = [...this.#unsent].some(key => cancels.has(key))
        const wants = renews ? [] : this.#takeWants()
        const dropped = [...cancels.values()].map(cid => want(cid, { cancel: true, presence: false }))
        await this.#channel.send({ ...emptyMessage(), wants: [...dropped, ...wants] })
        await nextTurn()
      }
    } finally {
      this.#flushing = false
    }
  }

  #takeCancels(): Map<string, CID> {
    const cancels = new Map(this.#cancels)
    this.#cancels.clear()
    return cancels
  }

  #takeWants(): ExchangeMessage['wants'] {
    const wants: ExchangeMessage['wants'] = []
    for (const key of this.#unsent) {
      const entry = this.#entries.get(key)
      if (entry === undefined) continue
      entry.sent = [...entry.waiters].every(waiter => waiter.presence) ? 'presence' : 'block'
      wants.push(want(entry.cid, { cancel: false, presence: entry.sent === 'presence' }))
    }
    this.#unsent.clear()
    return wants
  }
}

function want(
  cid: CID,
  { cancel, presence }: { cancel: boolean; presence: boolean },
): ExchangeMessage['wants'][number] {
  return { cid: cid.bytes, cancel, presence, sendDontHave: !cancel }
}

/** A small block must not keep the message that it came in. */
function ofItsOwn(bytes: Uint8Array): Uint8Array {
  return bytes.length * 2 < bytes.buffer.byteLength ? Uint8Array.from(bytes) : bytes
}

/** The key of what a block hashes to, or null if its hash cannot be checked here. */
async function hashedKey({ prefix, data }: SentBlock, hashed: typeof digestOf): Promise<string | null> {
  const version = readVarint(prefix, 0)
  const codec = readVarint(prefix, version?.end ?? 0)
  const hash = readVarint(prefix, codec?.end ?? 0)
  if (hash === null) return null
  const digest = await hashed(hash.value, data).catch(() => null)
  return digest === null ? null : keyOfMultihash(Digest.create(hash.value, digest).bytes)
}
