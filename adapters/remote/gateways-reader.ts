import type { CID } from 'multiformats/cid'
import type { SizedSource } from '../../src/content/block-source.ts'
import type { Clock } from '../../src/domain/clock.ts'
import { HoldfastError } from '../../src/domain/errors.ts'
import type { GatewayClient } from '../../src/outgoing/gateway-client.ts'

/** A block is waited for this long in all, and of one gateway this long while there are others to ask. */
const READ_MS = 20_000
const EACH_MS = 6_000
/** For this long one that was of no use is asked after those that were. */
const LATER_MS = 30_000

/** One of them, and when it was of no use last. */
interface Gateway {
  base: URL
  failedAt: number
}

type Answer<T> = { kind: 'told'; told: T } | { kind: 'missing' } | { kind: 'failed'; reason: string }
type Ask<T> = (base: URL, signal: AbortSignal) => Promise<Answer<T>>

/** Reads blocks by the trustless gateways of a cluster, one after the other, each block checked. */
export class GatewaysReader implements SizedSource {
  readonly #gateways: Gateway[]
  readonly #client: Pick<GatewayClient, 'get' | 'size'>
  readonly #clock: Clock

  /** @param bases in the order in which they are asked, without `/ipfs/` */
  constructor(bases: readonly URL[], client: Pick<GatewayClient, 'get' | 'size'>, clock: Clock) {
    this.#gateways = bases.map(base => ({ base, failedAt: Number.NEGATIVE_INFINITY }))
    this.#client = client
    this.#clock = clock
  }

  /** @throws HoldfastError `NOT_FOUND` if none has it; `UNAVAILABLE` if one did not tell, or told what is no answer */
  async read(cid: CID, { signal }: { signal?: AbortSignal | undefined } = {}): Promise<Uint8Array> {
    return this.#first(cid, signal, async (base, own) => {
      const answer = await this.#client.get(base, cid, own)
      if (answer.kind === 'block') return { kind: 'told', told: answer.bytes }
      return answer.kind === 'failed' ? answer : { kind: 'missing' }
    })
  }

  /** @throws HoldfastError as {@link read} */
  async sizeOf(cid: CID, { signal }: { signal?: AbortSignal | undefined } = {}): Promise<number> {
    return this.#first(cid, signal, async (base, own) => {
      const answer = await this.#client.size(base, cid, own)
      return answer.kind === 'size' ? { kind: 'told', told: answer.bytes } : answer
    })
  }

  /** What the first of them tells that has the block. */
  async #first<T>(cid: CID, signal: AbortSignal | undefined, ask: Ask<T>): Promise<T> {
    const late = new AbortController()
    const cancel = this.#clock.after(READ_MS, () => late.abort(unavailable('did not answer in time')))
    const ended = signal === undefined ? late.signal : AbortSignal.any([signal, late.signal])
    const order = this.#order()
    const failures: string[] = []
    try {
      for (const [i, gateway] of order.entries()) {
        const answer = await this.#ask(gateway, ask, ended, i === order.length - 1)
        if (answer.kind === 'told') return answer.told
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
      // What has none of it has answered well.
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

  /** As they were given, those that were of no use lately last. */
  #order(): Gateway[] {
    const since = this.#clock.now() - LATER_MS
    return this.#gateways.toSorted((a, b) => Number(a.failedAt > since) - Number(b.failedAt > since))
  }
}

function unavailable(reason: string): HoldfastError {
  return new HoldfastError('UNAVAILABLE', `the gateway of the cluster ${reason}`)
}
