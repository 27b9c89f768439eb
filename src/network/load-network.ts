import type { NetworkNode, NetworkOptions } from './network-node.ts'

/** Imports the large network packages. An engine without a network never imports them. */
export async function loadNetwork(options: NetworkOptions): Promise<NetworkNode> {
  const { startNetwork } = await import('./network-node.ts')
  return startNetwork(options)
}
