import type { CID } from 'multiformats/cid'
import type { SizedSource } from '../../src/content/block-source.ts'
import type { Clock } from '../../src/domain/clock.ts'
import { HoldfastError } from '../../src/domain/errors.ts'
import type { GatewayClient } from '../../src/outgoing/gateway-client.ts'

/** Timeouts in ms: for a whole read, and for one gateway while other gateways are left to try. */
const READ_MS = 20_000
const EACH_MS = 6_000
/** Ms for which a gateway is tried last after a failure. */
const DEMOTED_MS = 30_000

interface Gateway {
  base: URL
  failedAt: number
}

type Answer<T> = { kind: 'found'; value: T } | { kind: 'missing' } | { kind: 'failed'; reason: string }
type Ask<T> = (base: URL, signal: AbortSignal) => Promise<Answer<T>>

/** Tries one trustless gateway after another and verifies every block. */
export class GatewaysReader implements SizedSource {
  readonly #gateways: Gateway[]
  readonly #client: Pick<GatewayClient, 'get' | 'size'>
  readonly #clock: Clock

  /** @param bases the URLs of the gateways without `/ipfs/`, in the order in which they are tried */
  constructor(bases: readonly URL[], client: Pick<GatewayClient, 'get' | 'size'>, clock: Clock) {
    this.#gateways = bases.map(base => ({ base, failedAt: Number.NEGATIVE_INFINITY }))
    this.#client = client
    this.#clock = clock
  }

  /**
   * @throws HoldfastError `NOT_FOUND` if no gateway has the block; `UNAVAILABLE` if no gateway returned the block and
   * one of them failed
   */
  async read(cid: CID, { signal }: { signal?: AbortSignal | undefined } = {}): Promise<Uint8Array> {
    return this.#first(cid, signal, async (base, own) => {
      const answer = await this.#client.get(base, cid, own)
      if (answer.kind === 'block') return { kind: 'found', value: answer.bytes }
      return answer.kind === 'failed' ? answer : { kind: 'missing' }
    })
  }

  /**
   * Returns the size of a block in bytes.
   * @throws HoldfastError like {@link read}
   */
  async sizeOf(cid: CID, { signal }: { signal?: AbortSignal | undefined } = {}): Promise<number> {
    return this.#first(cid, signal, async (base, own) => {
      const answer = await this.#client.size(base, cid, own)
      return answer.kind === 'size' ? { kind: 'found', value: answer.bytes } : answer
    })
  }

  async #first<T>(cid: CID, signal: AbortSignal | undefined, ask: Ask<T>): Promise<T> {
    const late = new AbortController()
    const cancel = this.#clock.after(READ_MS, () => late.abort(unavailable('did not answer in time')))
    const ended = signal === undefined ? late.signal : AbortSignal.any([signal, late.signal])
    const order = this.#order()
    const failures: string[] = []
    try {
      for (const [i, gateway] of order.entries()) {
        const answer = await this.#ask(gateway, ask, ended, i === order.length - 1)
        if (answer.kind === 'found') return answer.value
        if (answer.kind === 'failed') failures.push(answer.reason)
      }
    } finally {
      cancel()
    }
    if (failures.length > 0) throw unavailable(failures.join('; '))
    throw new HoldfastError('NOT_FOUND', `block ${cid} is not in the cluster`)
  }

  async #ask<T>(gateway: Gateway, ask: Ask<T>, ended: AbortSignal, isLast: boolean): Promise<Answer<T>> {
    const slow = new AbortController()
    const cancel = this.#clock.after(isLast ? READ_MS : EACH_MS, () => slow.abort())
    try {
      const answer = await ask(gateway.base, AbortSignal.any([ended, slow.signal]))
      // A gateway that answers "not found" is healthy.
      gateway.failedAt = answer.kind === 'failed' ? this.#clock.now() : Number.NEGATIVE_INFINITY
      return answer
    } catch (error) {
      if (ended.aborted) throw ended.reason
      if (!slow.signal.aborted) throw error
      gateway.failedAt = this.#clock.now()
      return { kind: 'failed', reason: 'did not answer in time' }
    } finally {
      cancel()
    }
  }

  /** Orders the gateways as configured, but those with a recent failure last. */
  #order(): Gateway[] {
    const since = this.#clock.now() - DEMOTED_MS
    return this.#gateways.toSorted((a, b) => Number(a.failedAt > since) - Number(b.failedAt > since))
  }
}

function unavailable(reason: string): HoldfastError {
  return new HoldfastError('UNAVAILABLE', `the gateway of the cluster ${reason}`)
}
