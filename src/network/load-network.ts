import type { NetworkNode, NetworkOptions } from './network-node.ts'

/**
 * Loads the network's packages, which weigh more than all of the rest, and starts a node: see `startNetwork`. An
 * engine without a network never comes here.
 */
export async function loadNetwork(options: NetworkOptions): Promise<NetworkNode> {
  const { startNetwork } = await import('./network-node.ts')
  return startNetwork(options)
}
