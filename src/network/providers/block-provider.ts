import type { CID } from 'multiformats/cid'
import type { BlockAnswer } from '../../outgoing/gateway-client.ts'

/** The answer of a provider. `has` answers a probe only. */
export type ProviderAnswer = BlockAnswer | { kind: 'has' }

/** A question under way. */
export interface ProviderQuestion {
  /** Never rejects; never settles once cancelled. */
  answer: Promise<ProviderAnswer>
  cancel(): void
}

/** Lower tiers are asked first. */
export const TIER = { origin: 0, peer: 1, gateway: 2, stranger: 3, found: 3 } as const

/** Somebody who may have blocks. What it gives has been checked against the CID. */
export interface BlockProvider {
  /** Short, unique within a session, fit for a record's reason. */
  readonly name: string
  readonly tier: number
  /** Whether it can be asked for a block's presence alone. */
  readonly canProbe: boolean
  ask(cid: CID, options: { probe: boolean }): ProviderQuestion
}
