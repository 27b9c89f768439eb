import { MemoryBudget } from '../concurrency/memory-budget.ts'
import { ApartGateway } from '../gateway/site/documents-apart.ts'
import { memoryShares } from './memory-shares.ts'
import type { Setup } from './setup.ts'

/** Parts of the gateway that an engine has before it loads the gateway. */
export interface EarlyGateway {
  /** Memory of the responses that clients have not taken yet. */
  memory: MemoryBudget
  apart: ApartGateway
}

export function makeEarlyGateway({ config, clock, memoryBytes }: Setup): EarlyGateway {
  return {
    memory: MemoryBudget.of(memoryShares(memoryBytes).answers, clock),
    apart: new ApartGateway(config.gateway),
  }
}
