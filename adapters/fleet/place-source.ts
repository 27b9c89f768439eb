import type { CID } from 'multiformats/cid'
import type { BlockSource } from '../../src/content/block-source.ts'
import type { Clock } from '../../src/domain/clock.ts'
import { isHoldfastError } from '../../src/domain/errors.ts'

/** Time in ms without a block after which the next node is asked, too. */
const PATIENCE_MS = 1_000

type ReadOptions = { signal?: AbortSignal | undefined }

/**
 * Reads blocks from one of several nodes that have the same content. If a node fails, or gives no block in time, the next
 * one is asked. The node that has answered is asked first for the next block.
 */
export class PlaceSource implements BlockSource {
  readonly #sources: BlockSource[]
  readonly #clock: Clock

  constructor(sources: readonly BlockSource[], clock: Clock) {
    this.#sources = [...sources]
    this.#clock = clock
  }

  /** @throws the error of a node that could have the block, or else of the first one */
  async read(cid: CID, options: ReadOptions = {}): Promise<Uint8Array> {
    const [only, ...others] = this.#sources
    if (only !== undefined && others.length === 0) return only.read(cid, options)
    return this.#readAny(cid, options)
  }

  #readAny(cid: CID, { signal }: ReadOptions): Promise<Uint8Array> {
    const order = [...this.#sources]
    const ended = new AbortController()
    const signals = signal === undefined ? ended.signal : AbortSignal.any([signal, ended.signal])
    const failures: unknown[] = []
    let next = 0
    let cancel = (): void => undefined
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>()
    const ask = (): void => {
      cancel()
      const source = order[next++]
      if (source === undefined) return
      cancel = this.#clock.after(PATIENCE_MS, ask)
      source.read(cid, { signal: signals }).then(
        bytes => {
          this.#prefer(source)
          resolve(bytes)
        },
        error => {
          failures.push(error)
          if (signal?.aborted === true || failures.length === order.length) reject(worstOf(failures))
          else ask()
        },
      )
    }
    ask()
    return promise.finally(() => {
      cancel()
      ended.abort()
    })
  }

  #prefer(source: BlockSource): void {
    const index = this.#sources.indexOf(source)
    if (index > 0) this.#sources.unshift(...this.#sources.splice(index, 1))
  }
}

/** A node that is away may have the block that another one lacks. */
function worstOf(failures: readonly unknown[]): unknown {
  return failures.find(error => isHoldfastError(error, 'UNAVAILABLE')) ?? failures[0]
}
