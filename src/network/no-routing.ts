import type { ContentRouting } from '@libp2p/interface'
import { HoldfastError } from '../domain/errors.ts'

/**
 * The content routing of a node without routers. Helia needs one to delete a block, because it first withdraws the
 * block from its routers.
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
