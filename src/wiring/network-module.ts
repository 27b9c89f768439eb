import { pooledHash } from '../content/pooled-hash.ts'
import type { Connection, NetworkNode } from '../network/network-node.ts'
import type { ServedBlocks } from '../network/served-blocks.ts'
import type { ClustersModule } from './clusters-module.ts'
import type { LaterModule } from './later-module.ts'
import { loaders } from './loaders.ts'
import type { Setup } from './setup.ts'
import type { StorageModule } from './storage-module.ts'
import type { TakedownsModule } from './takedowns-module.ts'

export type NetworkModule = ReturnType<typeof makeNetwork>

interface Below {
  storage: StorageModule
  clusters: ClustersModule
  takedowns: LaterModule<TakedownsModule>
}

/** Creates the module with `node` as null, until the network has started. */
export function makeNetwork({ config, clock, logger }: Setup, { storage, clusters, takedowns }: Below) {
  const { datastore, threads } = storage
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
      // Large packages, which an engine without a network never needs.
      const { startNetwork } = await loaders.network()
      const gatewayUrl = config.gateway.publicUrl
      const parts = { config: config.network, gatewayUrl, blocks: served, datastore, clock, logger, hash }
      const started = await startNetwork(parts)
      blocks = served
      node = started
      clusters.reachableAt(() => started.addresses())
    },
    stop: async (): Promise<void> => node?.stop(),
  }
}
