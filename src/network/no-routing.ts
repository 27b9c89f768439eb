import type { ContentRouting } from '@libp2p/interface'
import { HoldfastError } from '../domain/errors.ts'

/**
 * Content routing for a node without routers. Before Helia deletes a block, it withdraws the block's provider record.
 */
export const noRouting: ContentRouting = {
  provide: async () => undefined,
  cancelReprovide: async () => undefined,
  findProviders: async function* () {},
  put: refuse,
  get: refuse,
}

async function refuse(): Promise<never> {
  throw new HoldfastError('UNAVAILABLE', 'the node has no router')
}
