import type { NetworkNode, NetworkOptions } from './network-node.ts'

/**
 * Imports the network's packages, which are larger than the rest of the engine, and starts a node (see `startNetwork`).
 * An engine without a network never calls this.
 */
export async function loadNetwork(options: NetworkOptions): Promise<NetworkNode> {
  const { startNetwork } = await import('./network-node.ts')
  return startNetwork(options)
}
