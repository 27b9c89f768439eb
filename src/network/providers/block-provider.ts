import type { CID } from 'multiformats/cid'
import type { BlockAnswer } from '../../outgoing/gateway-client.ts'

/** Only a probe gets the answer `has`. */
export type ProviderAnswer = BlockAnswer | { kind: 'has' }

export interface ProviderQuestion {
  /** Never rejects, and stays pending after {@link cancel}. */
  answer: Promise<ProviderAnswer>
  cancel(): void
}

/** Providers of a lower tier are asked first. */
export const TIER = { origin: 0, peer: 1, gateway: 2, stranger: 3, found: 3 } as const

/** Source of blocks, which checks that the hash of each block matches its CID. */
export interface BlockProvider {
  /** Short name, unique within a session. The error message of a failed fetch quotes the name. */
  readonly name: string
  readonly tier: number
  /** True if the provider can answer whether it has a block, without sending the block. */
  readonly canProbe: boolean
  ask(cid: CID, options: { probe: boolean }): ProviderQuestion
}
