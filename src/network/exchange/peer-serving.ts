import type { CID } from 'multiformats/cid'
import type { Semaphore } from '../../concurrency/capacity/semaphore.ts'
import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import type { Logger } from '../../domain/logger.ts'
import { cidOfBytes } from '../../ipld/cid.ts'
import { keyOfCid } from '../../ipld/multihash-key.ts'
import { varintBytes } from '../../ipld/varint.ts'
import type { ServedBlocks } from '../served-blocks.ts'
import { type ExchangeMessage, emptyMessage } from './message.ts'
import type { PeerChannel } from './peer-channel.ts'
import { type WantCount, type Wanted, WantQueue } from './want-queue.ts'

interface Answer {
  wanted: Wanted
  found: Uint8Array | 'has' | null
}

/** Limits the total size of several blocks in one message. A larger block is sent in a message of its own. */
const MESSAGE_BYTES = 1024 * 1024 + 64 * 1024
const MESSAGE_ENTRIES = 512
const READ_AHEAD = 4
/** Other implementations accept messages of at most 4 MiB. */
const LONGEST_BLOCK = 4 * 1024 * 1024 - 1024

interface PeerServingParts {
  peer: string
  blocks: ServedBlocks
  channel: PeerChannel
  gate: Semaphore
  wants: WantCount
  logger: Logger
}

/** Answers the wants of one peer in order. A block that must not be served gets the same answer as a missing block. */
export class PeerServing {
  readonly #options: PeerServingParts
  readonly #wanted: WantQueue
  #answers: Answer[] = []
  #serving = false
  #closed = false

  /**
   * @param options.gate limits the outgoing messages in memory, across all peers
   * @param options.wants counts the wants of all peers
   */
  constructor(options: PeerServingParts) {
    this.#wanted = new WantQueue(options.wants)
    this.#options = options
  }

  /** @throws if a want has a malformed CID */
  receive({ full, wants }: ExchangeMessage): void {
    if (full) this.#wanted.clear()
    for (const want of wants) {
      const cid = cidOfBytes(want.cid)
      const key = keyOfCid(cid)
      if (want.cancel) this.#wanted.delete(key)
      else this.#wanted.add(key, { cid, presence: want.presence, sendDontHave: want.sendDontHave })
    }
    if (this.#wanted.size > 0 && !this.#serving) this.#serve()
  }

  close(): void {
    this.#closed = true
    this.#forget()
  }

  #serve(): void {
    this.#serving = true
    this.#run()
      .catch((error: unknown) => {
        this.#forget()
        this.#options.logger.debug({ err: error, peer: this.#options.peer }, 'cannot answer a peer')
      })
      .finally(() => {
        this.#serving = false
        if (this.#wanted.size > 0 && !this.#closed) this.#serve()
      })
  }

  async #run(): Promise<void> {
    let sending: Promise<void> = Promise.resolve()
    let sent: () => void = () => undefined
    try {
      while (this.#wanted.size + this.#answers.length > 0 && !this.#closed) {
        const pass = this.#options.gate.enter(this.#options.peer)
        try {
          await pass.entered
          const message = await this.#nextMessage()
          await sending
          sent()
          sent = pass.leave
          sending = isEmpty(message) ? Promise.resolve() : this.#options.channel.send(message)
          // The next iteration awaits `sending`. Until then this handler prevents an unhandled rejection.
          sending.catch(() => undefined)
        } catch (error) {
          pass.leave()
          throw error
        }
      }
      await sending
    } finally {
      sent()
    }
  }

  async #nextMessage(): Promise<ExchangeMessage> {
    const message = emptyMessage()
    let bytes = 0
    for (let entries = 0; entries < MESSAGE_ENTRIES; entries++) {
      const next = await this.#nextAnswer()
      if (next === undefined) break
      const { wanted, found } = next
      if (found instanceof Uint8Array) {
        bytes += found.length
        if (bytes > MESSAGE_BYTES && message.blocks.length > 0) break
        message.blocks.push({ prefix: prefixOf(wanted.cid), data: found })
      } else if (found === 'has' || wanted.sendDontHave) {
        message.presences.push({ cid: wanted.cid.bytes, has: found === 'has' })
      }
      this.#answers.shift()
    }
    return message
  }

  async #nextAnswer(): Promise<Answer | undefined> {
    if (this.#answers.length === 0) {
      if (turnSpent()) await nextTurn()
      const next = this.#wanted.take(READ_AHEAD)
      this.#answers = await Promise.all(next.map(async wanted => ({ wanted, found: await this.#find(wanted) })))
    }
    return this.#answers[0]
  }

  #forget(): void {
    this.#wanted.clear()
    this.#answers = []
  }

  async #find(wanted: Wanted): Promise<Answer['found']> {
    if (wanted.presence) return this.#options.blocks.has(wanted.cid) ? 'has' : null
    const bytes = await this.#options.blocks.get(wanted.cid).catch((error: unknown) => {
      this.#options.logger.warn({ err: error, cid: wanted.cid.toString() }, 'cannot read a block for a peer')
      return null
    })
    return bytes !== null && bytes.length <= LONGEST_BLOCK ? bytes : null
  }
}

function isEmpty({ blocks, presences }: ExchangeMessage): boolean {
  return blocks.length === 0 && presences.length === 0
}

function prefixOf(cid: CID): Uint8Array {
  const { code, digest } = cid.multihash
  return Buffer.concat([cid.version, cid.code, code, digest.length].map(varintBytes))
}
