import { pooledHash } from '../content/pooled-hash.ts'
import type { Connection, NetworkNode, NetworkOptions } from '../network/network-node.ts'
import type { ServedBlocks } from '../network/served-blocks.ts'
import type { ClustersModule } from './clusters-module.ts'
import type { LaterModule } from './later-module.ts'
import type { Setup } from './setup.ts'
import type { StorageModule } from './storage-module.ts'
import type { TakedownsModule } from './takedowns-module.ts'

export type NetworkModule = ReturnType<typeof makeNetwork>

/**
 * Creates the module with `node` as null, until the network has started.
 * @param load loads the large packages of the network, which an engine without a network never needs
 */
export function makeNetwork(
  { config, clock, logger }: Setup,
  { datastore, threads }: StorageModule,
  { reachableAt }: ClustersModule,
  takedowns: LaterModule<TakedownsModule>,
  load: () => Promise<{ startNetwork: (options: NetworkOptions) => Promise<NetworkNode> }>,
) {
  let node: NetworkNode | null = null
  let blocks: ServedBlocks | null = null
  return {
    /** Blocks that peers get from this node. Null while networking is off. */
    get blocks(): ServedBlocks | null {
      return blocks
    },
    get node(): NetworkNode | null {
      return node
    },
    peerCount: (): number => node?.peerCount() ?? 0,
    addresses: (): string[] => node?.addresses() ?? [],
    peerId: (): string | null => node?.peerId ?? null,
    publicNetwork: (): 'connected' | 'no-peers' | null => {
      if (node === null || !node.isPublic) return null
      return node.isAlone ? 'no-peers' : 'connected'
    },
    connections: (): readonly Connection[] => node?.connections() ?? [],
    start: async (): Promise<void> => {
      if (config.network?.enabled !== true) return
      // Load the takedowns first. Otherwise a peer could receive a block that is taken down.
      const served = (await takedowns.load()).peerBlocks
      const hash = pooledHash(threads)
      const { startNetwork } = await load()
      const gatewayUrl = config.gateway.publicUrl
      const parts = { config: config.network, gatewayUrl, blocks: served, datastore, clock, logger, hash }
      const started = await startNetwork(parts)
      blocks = served
      node = started
      reachableAt(() => started.addresses())
    },
    stop: async (): Promise<void> => node?.stop(),
  }
}
