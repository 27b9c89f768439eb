import type { CID } from 'multiformats/cid'
import type { BlockSource } from '../content/block-source.ts'
import type { Clock } from '../domain/clock.ts'
import { Deadline, within } from '../domain/deadline.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { GatewayClient } from '../network/providers/gateway-client.ts'

/** A block is waited for this long in all, and of one gateway this long while there are others to ask. */
const READ_MS = 20_000
const EACH_MS = 6_000
/** For this long one that was of no use is asked after those that were. */
const LATER_MS = 30_000
const SILENT = 'did not answer in time'

/** One of them, and when it was of no use last. */
interface Gateway {
  base: URL
  failedAt: number
}

/** Reads blocks by the trustless gateways of a cluster, one after the other, each block checked. */
export class GatewaysReader implements BlockSource {
  readonly #gateways: Gateway[]
  readonly #client: Pick<GatewayClient, 'get'>
  readonly #clock: Clock

  /** @param bases in the order in which they are asked, without `/ipfs/` */
  constructor(bases: readonly URL[], client: Pick<GatewayClient, 'get'>, clock: Clock) {
    this.#gateways = bases.map(base => ({ base, failedAt: Number.NEGATIVE_INFINITY }))
    this.#client = client
    this.#clock = clock
  }

  /** @throws HoldfastError `NOT_FOUND` if none has it; `UNAVAILABLE` if one did not tell, or told what is no answer */
  async read(cid: CID, { signal }: { signal?: AbortSignal | undefined } = {}): Promise<Uint8Array> {
    const late = () => unavailable(SILENT)
    return within({ clock: this.#clock, ms: READ_MS, late, signal }, ended => this.#readOne(cid, ended))
  }

  async #readOne(cid: CID, ended: AbortSignal): Promise<Uint8Array> {
    const order = this.#order()
    const failures: string[] = []
    for (const [i, gateway] of order.entries()) {
      const answer = await this.#ask(gateway, cid, ended, i === order.length - 1)
      if (answer.kind === 'block') return answer.bytes
      if (answer.kind === 'failed') failures.push(answer.reason)
    }
    if (failures.length > 0) throw unavailable(failures.join('; '))
    throw new HoldfastError('NOT_FOUND', `block ${cid} is not in the cluster`)
  }

  async #ask(gateway: Gateway, cid: CID, ended: AbortSignal, isLast: boolean) {
    const ms = isLast ? READ_MS : EACH_MS
    const deadline = new Deadline({ clock: this.#clock, ms, late: () => unavailable(SILENT), signal: ended })
    try {
      const answer = await this.#client.get(gateway.base, cid, deadline.signal)
      // What has none of it has answered well.
      gateway.failedAt = answer.kind === 'failed' ? this.#clock.now() : Number.NEGATIVE_INFINITY
      return answer
    } catch (error) {
      if (ended.aborted) throw ended.reason
      if (!deadline.isOver) throw error
      gateway.failedAt = this.#clock.now()
      return { kind: 'failed' as const, reason: SILENT }
    } finally {
      deadline.rest()
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
