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
    const failures: unknown[] = []
    const tries = [...this.#sources].map(source => async (ended: AbortSignal) => {
      try {
        const bytes = await source.read(cid, { signal: ended })
        this.#prefer(source)
        return bytes
      } catch (error) {
        failures.push(error)
        throw error
      }
    })
    return firstAnswer(tries, this.#clock, signal).catch(() => {
      throw worstOf(failures)
    })
  }

  #prefer(source: BlockSource): void {
    const index = this.#sources.indexOf(source)
    if (index > 0) this.#sources.unshift(...this.#sources.splice(index, 1))
  }
}

/**
 * Asks nodes in their order, the next one when one fails or has not answered in time. Returns the first answer, and aborts
 * the other questions.
 *
 * @throws an error of a question if all fail
 */
export function firstAnswer<T>(
  questions: ReadonlyArray<(signal: AbortSignal) => Promise<T>>,
  clock: Clock,
  signal?: AbortSignal,
): Promise<T> {
  const ended = new AbortController()
  const signals = signal === undefined ? ended.signal : AbortSignal.any([signal, ended.signal])
  let [next, failed] = [0, 0]
  let cancel = (): void => undefined
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const ask = (): void => {
    cancel()
    const question = questions[next++]
    if (question === undefined) return
    cancel = clock.after(PATIENCE_MS, ask)
    question(signals).then(resolve, error => {
      failed++
      if (signal?.aborted === true || failed === questions.length) reject(error)
      else ask()
    })
  }
  ask()
  return promise.finally(() => {
    cancel()
    ended.abort()
  })
}

/** Returns `UNAVAILABLE` if any node gave it: a node that is away may have the block that another node lacks. */
function worstOf(failures: readonly unknown[]): unknown {
  return failures.find(error => isHoldfastError(error, 'UNAVAILABLE')) ?? failures[0]
}
