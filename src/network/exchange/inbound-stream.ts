import type { Stream } from '@libp2p/interface'
import type { Pass, Semaphore } from '../../concurrency/capacity/semaphore.ts'
import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import { freePlaintext } from '../wire/plaintexts.ts'
import type { FrameReader } from './frame-reader.ts'

/**
 * Limits the unread bytes of one peer, on all its streams. A peer that only answers requests stays far below this
 * limit.
 */
export const MOST_WAITING_BYTES = 64 * 1024 * 1024

export interface FrameHandling {
  /**
   * Decodes a message. No other stream decodes until the returned promise resolves. `done` resolves when the blocks of
   * the message are checked, and never rejects.
   * @throws RangeError if the message is malformed
   */
  onFrame(frame: Uint8Array): Promise<{ done: Promise<void> }>
  /** Called when the stream closes in the middle of a message. */
  onBroken(): void
  /** Called when the stream sends a malformed message. The rest of the stream is not read. */
  onFailure(error: unknown): void
}

/**
 * Reads one stream. Streams decode in turn, each for at most one event-loop turn. Meanwhile, received data waits in
 * memory, because a paused libp2p stream sometimes never resumes.
 */
export class InboundStream {
  readonly #frames: FrameReader
  readonly #handling: FrameHandling
  readonly #owner: string
  readonly #gate: Semaphore
  readonly #waiting: Uint8Array[] = []
  readonly #room: { waitingBytes: number }
  #pass: Pass | null = null
  #blocks: Promise<void> = Promise.resolve()
  #running = false
  #over: 'no' | 'closed' | 'failed' = 'no'

  /**
   * @param options.gate admits one stream at a time
   * @param options.room unread bytes on all streams of the peer
   */
  constructor(
    stream: Stream,
    frames: FrameReader,
    options: { owner: string; gate: Semaphore; room: { waitingBytes: number }; handling: FrameHandling },
  ) {
    this.#frames = frames
    this.#owner = options.owner
    this.#gate = options.gate
    this.#handling = options.handling
    this.#room = options.room
    stream.addEventListener('message', ({ data }) => {
      for (const piece of data instanceof Uint8Array ? [data] : data) this.#take(piece)
    })
    stream.addEventListener('close', () => {
      if (this.#over === 'no') this.#over = 'closed'
      this.#run()
    })
  }

  #take(data: Uint8Array): void {
    if (this.#over === 'failed') return
    this.#waiting.push(data)
    this.#room.waitingBytes += data.length
    if (this.#room.waitingBytes > MOST_WAITING_BYTES) this.#fail(new RangeError('too much waits to be read'))
    else this.#run()
  }

  #run(): void {
    if (this.#running) return
    this.#running = true
    this.#readAll()
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        this.#leave()
        this.#running = false
        if (this.#waiting.length > 0) this.#run()
        else if (this.#over === 'closed' && this.#frames.isWithinMessage) this.#handling.onBroken()
      })
  }

  async #readAll(): Promise<void> {
    for (let data = this.#waiting.shift(); data !== undefined; data = this.#waiting.shift()) {
      try {
        for (const frame of this.#frames.push(data)) {
          await this.#enter()
          if (this.#over === 'failed') return
          const { done } = await this.#handling.onFrame(frame)
          const before = this.#blocks
          this.#blocks = done
          this.#leave()
          await before
        }
      } finally {
        this.#room.waitingBytes -= data.length
        // The bytes have been copied into messages, or nothing will read them.
        freePlaintext(data)
      }
    }
  }

  #fail(error: unknown): void {
    if (this.#over === 'failed') return
    this.#over = 'failed'
    for (const { length } of this.#waiting.splice(0)) this.#room.waitingBytes -= length
    this.#handling.onFailure(error)
  }

  async #enter(): Promise<void> {
    this.#pass = this.#gate.enter(this.#owner)
    await this.#pass.entered
    if (turnSpent()) await nextTurn()
  }

  #leave(): void {
    this.#pass?.leave()
    this.#pass = null
  }
}
