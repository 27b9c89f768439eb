import type { CID } from 'multiformats/cid'
import { withoutTrailingSlashes } from '../../domain/trailing-slashes.ts'
import type { GatewayClient } from '../../outgoing/gateway-client.ts'
import type { BlockProvider, ProviderAnswer, ProviderQuestion } from './block-provider.ts'

export class GatewayProvider implements BlockProvider {
  readonly name: string
  readonly tier: number
  readonly canProbe = false
  readonly #base: URL
  readonly #client: GatewayClient

  constructor(base: URL, tier: number, client: GatewayClient) {
    this.name = `gateway ${withoutTrailingSlashes(base.href)}`
    this.tier = tier
    this.#base = base
    this.#client = client
  }

  ask(cid: CID): ProviderQuestion {
    const abort = new AbortController()
    const answer = this.#client.get(this.#base, cid, abort.signal).catch((): Promise<ProviderAnswer> => {
      return new Promise(() => undefined)
    })
    return { answer, cancel: () => abort.abort() }
  }
}
