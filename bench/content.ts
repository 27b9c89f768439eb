import { randomFillSync } from 'node:crypto'
import type { Work } from './contest.ts'

/** The piece size of every source here: about what a socket hands over. */
export const CHUNK_BYTES = 64 * 1024

/** One file of random bytes. */
export class FileContent implements Work {
  readonly bytes: Buffer

  /** @param size in bytes */
  constructor(size: number) {
    this.bytes = Buffer.allocUnsafe(size)
  }

  refill(): void {
    randomFillSync(this.bytes)
  }

  async *chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    yield* slices(this.bytes)
  }
}

export interface TreeFile {
  /** Relative, `/` between segments. */
  path: string
  bytes: Uint8Array
}

/** A tree of small files of random bytes, a hundred to a folder. */
export class TreeContent implements Work {
  readonly files: readonly TreeFile[]
  readonly #bytes: Buffer

  constructor(fileCount: number, fileBytes: number) {
    const bytes = Buffer.allocUnsafe(fileCount * fileBytes)
    this.#bytes = bytes
    this.files = Array.from({ length: fileCount }, (_, index) => ({
      path: `folder-${Math.floor(index / 100)}/file-${index % 100}.bin`,
      bytes: bytes.subarray(index * fileBytes, (index + 1) * fileBytes),
    }))
  }

  refill(): void {
    randomFillSync(this.#bytes)
  }
}

export function* slices(bytes: Uint8Array): Generator<Uint8Array, void, undefined> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES)
}
