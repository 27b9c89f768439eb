import type { CID } from 'multiformats/cid'
import type { BlockSource } from '../../content/block-source.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { GatewayClient } from '../../network/providers/gateway-client.ts'

/** A block is waited for this long. */
const READ_MS = 20_000

/** Reads blocks by a trustless gateway, each checked. */
export class GatewayReader implements BlockSource {
  readonly #base: URL
  readonly #client: Pick<GatewayClient, 'get'>
  readonly #clock: Clock

  constructor(base: URL, client: Pick<GatewayClient, 'get'>, clock: Clock) {
    this.#base = base
    this.#client = client
    this.#clock = clock
  }

  /** @throws HoldfastError `NOT_FOUND`; `UNAVAILABLE` if it could not be asked, or answered what is no answer */
  async read(cid: CID): Promise<Uint8Array> {
    const late = new AbortController()
    const unavailable = (reason: string) => new HoldfastError('UNAVAILABLE', `the gateway of the cluster ${reason}`)
    const cancel = this.#clock.after(READ_MS, () => late.abort(unavailable('did not answer in time')))
    try {
      const answer = await this.#client.get(this.#base, cid, late.signal)
      if (answer.kind === 'block') return answer.bytes
      if (answer.kind === 'missing') throw new HoldfastError('NOT_FOUND', `block ${cid} is not in the cluster`)
      throw unavailable(answer.kind === 'failed' ? answer.reason : 'answered what is no answer')
    } finally {
      cancel()
    }
  }
}
