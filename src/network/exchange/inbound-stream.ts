import type { Stream } from '@libp2p/interface'
import type { FairGate, Pass } from '../../concurrency/fair-gate.ts'
import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import { freePlaintext } from '../wire/plaintexts.ts'
import type { FrameReader } from './frame-reader.ts'

/** What all streams of one peer may have waiting to be read: more than anybody sends who was asked for it. */
export const MOST_WAITING_BYTES = 64 * 1024 * 1024

export interface FrameHandling {
  /**
   * Decodes a message, while no other stream does. Resolves once it is decoded; `done` resolves once its blocks are
   * looked at, which goes on for two messages of a stream at a time, and never rejects.
   *
   * @throws RangeError for one that cannot be read.
   */
  onFrame(frame: Uint8Array): Promise<{ done: Promise<void> }>
  /** The stream has ended within a message. */
  onBroken(): void
  /** It sent what cannot be read: nothing of it is read any more. */
  onFailure(error: unknown): void
}

/**
 * Reads the messages of one stream, in order. Streams work by turns between their peers, one at a time, for as long as
 * one may hold the event loop; what comes meanwhile waits, and a peer of which too much waits has failed. (Pausing the
 * stream instead would hold such a peer up, but a stream of libp2p that was paused now and then never goes on.)
 */
export class InboundStream {
  readonly #frames: FrameReader
  readonly #handling: FrameHandling
  readonly #owner: string
  readonly #gate: FairGate
  readonly #waiting: Uint8Array[] = []
  readonly #room: { waitingBytes: number }
  #pass: Pass | null = null
  #blocks: Promise<void> = Promise.resolve()
  #running = false
  #over: 'no' | 'closed' | 'failed' = 'no'

  /**
   * @param options.gate lets one in at a time
   * @param options.room what waits of all streams of the peer
   */
  constructor(
    stream: Stream,
    frames: FrameReader,
    options: { owner: string; gate: FairGate; room: { waitingBytes: number }; handling: FrameHandling },
  ) {
    this.#frames = frames
    this.#owner = options.owner
    this.#gate = options.gate
    this.#handling = options.handling
    this.#room = options.room
    stream.addEventListener('message', ({ data }) => {
      // A list is put together where the message is, and nowhere before.
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
        // All of it is in its message, or will not be read.
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
