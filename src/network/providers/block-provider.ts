import type { CID } from 'multiformats/cid'
import type { BlockAnswer } from '../../outgoing/gateway-client.ts'

/** A provider's answer. `has` answers only a probe. */
export type ProviderAnswer = BlockAnswer | { kind: 'has' }

/** A pending request. */
export interface ProviderQuestion {
  /** Never rejects. Stays pending after {@link cancel}. */
  answer: Promise<ProviderAnswer>
  cancel(): void
}

/** Order of asking: lower tiers first. */
export const TIER = { origin: 0, peer: 1, gateway: 2, stranger: 3, found: 3 } as const

/** A source of blocks. It checks every block against its CID. */
export interface BlockProvider {
  /** Short and unique within a session. A record's reason quotes it. */
  readonly name: string
  readonly tier: number
  /** True if it can answer whether it has a block, without sending it. */
  readonly canProbe: boolean
  ask(cid: CID, options: { probe: boolean }): ProviderQuestion
}
