import { randomBytes, randomFillSync } from 'node:crypto'
import { once } from 'node:events'
import type { Writable } from 'node:stream'

const PIECE_BYTES = 1024 * 1024
const UNIQUE_BYTES = 32

const piece = randomBytes(PIECE_BYTES)

/** A form with one file of random bytes. No two forms share a piece of 1 MiB. */
export class RandomForm {
  readonly #head: Buffer
  readonly #tail: Buffer
  readonly #fileBytes: number
  readonly headers: Record<string, string>

  constructor(fileBytes: number) {
    const boundary = `bench-${randomBytes(8).toString('hex')}`
    this.#head = Buffer.from(
      `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="bench.bin"\r\n` +
        'content-type: application/octet-stream\r\n\r\n',
    )
    this.#tail = Buffer.from(`\r\n--${boundary}--\r\n`)
    this.#fileBytes = fileBytes
    this.headers = {
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': String(this.#head.length + fileBytes + this.#tail.length),
    }
  }

  /** Writes the form no faster than the stream takes it, and ends the stream. */
  async writeTo(stream: Writable): Promise<void> {
    stream.write(this.#head)
    for (let left = this.#fileBytes; left > 0; left -= PIECE_BYTES) {
      const bytes = Buffer.from(piece.subarray(0, Math.min(left, PIECE_BYTES)))
      randomFillSync(bytes, 0, Math.min(bytes.length, UNIQUE_BYTES))
      if (!stream.write(bytes)) await once(stream, 'drain')
    }
    stream.end(this.#tail)
  }
}
