import type { CID } from 'multiformats/cid'
import * as Digest from 'multiformats/hashes/digest'
import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import type { Clock } from '../../domain/clock.ts'
import { digestOf } from '../../ipld/block-hash.ts'
import { cidOfBytes } from '../../ipld/cid.ts'
import { keyOfCid, keyOfMultihash } from '../../ipld/multihash-key.ts'
import { readVarint } from '../../ipld/varint.ts'
import { noteLone } from '../lone-blocks.ts'
import { type ExchangeMessage, emptyMessage, type SentBlock } from './message.ts'
import type { PeerChannel } from './peer-channel.ts'

/**
 * `lost` means that the peer cannot answer any more. `wrong` means that the peer sent a block that was not requested.
 */
export type PeerAnswer =
  | { kind: 'block'; bytes: Uint8Array }
  | { kind: 'has' }
  | { kind: 'missing' }
  | { kind: 'lost'; reason: string }
  | { kind: 'wrong' }

export interface Asked {
  answer: Promise<PeerAnswer>
  /** Cancels the request. `answer` then stays pending. */
  cancel(): void
}

interface Waiter {
  presence: boolean
  answer: (answer: PeerAnswer) => void
}

interface Entry {
  cid: CID
  waiters: Set<Waiter>
  /** Null if no request was sent. */
  sent: 'presence' | 'block' | null
}

/** Limits the settled wants in memory. Their blocks may still arrive. */
const REMEMBERED = 2_048
/** Larger blocks are hashed outside the event loop. */
const SMALL_BYTES = 32 * 1024
/** The delay lets cancels share a message with wants. */
const CANCEL_DELAY_MS = 50

/** Requests blocks from one peer. Wants of the same event-loop turn share a message. */
export class PeerWants {
  readonly #channel: PeerChannel
  readonly #clock: Clock
  readonly #hash: typeof digestOf
  readonly #entries = new Map<string, Entry>()
  readonly #unsent = new Set<string>()
  /** After a peer has processed a cancel, it accepts a new want for the block. */
  readonly #cancels = new Map<string, CID>()
  readonly #settled = new Set<string>()
  #flushing = false
  #gone = false
  #cancelTimer: (() => void) | null = null

  /** @param hash hashes large blocks outside the event loop */
  constructor(channel: PeerChannel, clock: Clock, hash: typeof digestOf = digestOf) {
    this.#channel = channel
    this.#clock = clock
    this.#hash = hash
  }

  /**
   * @param presence true to ask only whether the peer has the block. The peer may still send a small block immediately.
   */
  ask(cid: CID, presence: boolean): Asked {
    const key = keyOfCid(cid)
    const known = this.#entries.get(key)
    const entry: Entry = known ?? { cid, waiters: new Set(), sent: null }
    if (known === undefined) this.#entries.set(key, entry)
    const { promise: answer, resolve } = Promise.withResolvers<PeerAnswer>()
    const waiter: Waiter = { presence, answer: resolve }
    entry.waiters.add(waiter)
    if (entry.sent === null || (entry.sent === 'presence' && !presence)) {
      this.#unsent.add(key)
      this.#flushSoon()
    }
    return { answer, cancel: () => this.#leave(key, entry, waiter) }
  }

  /** Returns the maximum number of blocks, or of answers about blocks, in a message of the peer. */
  get expected(): number {
    return this.#entries.size + this.#settled.size
  }

  /** Returns false if a block was not requested, and ignores the rest. */
  async receive({ presences, blocks }: Pick<ExchangeMessage, 'presences' | 'blocks'>): Promise<boolean> {
    const large: Array<Promise<boolean>> = []
    for (const block of blocks) {
      if (turnSpent()) await nextTurn()
      if (this.#gone || this.expected === 0) break
      if (block.data.length > SMALL_BYTES) large.push(this.#take(block, blocks.length === 1))
      else if (!(await this.#take(block, false))) return false
    }
    const wereWanted = await Promise.all(large)
    // Process the answers after the blocks. A "don't have" answer may fail a fetch that one of these blocks completes.
    for (const { cid, has } of presences) {
      if (turnSpent()) await nextTurn()
      this.#answered(keyOfCid(cidOfBytes(cid)), has)
    }
    return wereWanted.every(wasWanted => wasWanted)
  }

  /** Settles all wants as lost. The caller may request the blocks again. */
  interrupted(reason: string): void {
    this.#answerAll({ kind: 'lost', reason })
  }

  lost(reason: string): void {
    this.#gone = true
    this.#cancelTimer?.()
    this.#cancels.clear()
    this.#answerAll({ kind: 'lost', reason })
  }

  #answered(key: string, has: boolean): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    if (!has) {
      this.#settle(key, entry, { kind: 'missing' })
      return
    }
    for (const waiter of entry.waiters) {
      if (!waiter.presence) continue
      entry.waiters.delete(waiter)
      waiter.answer({ kind: 'has' })
    }
    if (entry.waiters.size > 0) return
    this.#forget(key, entry)
    // The peer drops the want after this answer. A want for the bytes of the block usually follows.
    this.#cancels.delete(key)
  }

  /**
   * Returns whether the block was requested.
   * @param isAlone true if the message has no other block
   */
  async #take(block: SentBlock, isAlone: boolean): Promise<boolean> {
    const key = await hashedKey(block, block.data.length > SMALL_BYTES ? this.#hash : digestOf)
    const entry = key === null ? undefined : this.#entries.get(key)
    if (key !== null && entry !== undefined) {
      const bytes = ownCopy(block.data)
      if (isAlone && entry.waiters.size === 1) noteLone(bytes)
      this.#settle(key, entry, { kind: 'block', bytes })
      return true
    }
    // Accept a late block, but only once.
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
    for (const waiter of entry.waiters) waiter.answer(answer)
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

  /** Wants added while a message is sent share the next message, because a message costs far more than a want. */
  async #flush(): Promise<void> {
    try {
      while (this.#unsent.size > 0 || (this.#cancels.size > 0 && this.#cancelTimer === null)) {
        this.#cancelTimer?.()
        this.#cancelTimer = null
        const cancels = this.#takeCancels()
        // A peer may merge two entries for the same block. Send a renewed want in the message after its cancel.
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

/** Copies a small block, because a view would keep the whole message in memory. */
function ownCopy(bytes: Uint8Array): Uint8Array {
  return bytes.length * 2 < bytes.buffer.byteLength ? Uint8Array.from(bytes) : bytes
}

/** Returns null if this node does not support the hash function. */
async function hashedKey({ prefix, data }: SentBlock, hashed: typeof digestOf): Promise<string | null> {
  const version = readVarint(prefix, 0)
  const codec = readVarint(prefix, version?.end ?? 0)
  const hash = readVarint(prefix, codec?.end ?? 0)
  if (hash === null) return null
  const digest = await hashed(hash.value, data).catch(() => null)
  return digest === null ? null : keyOfMultihash(Digest.create(hash.value, digest).bytes)
}
