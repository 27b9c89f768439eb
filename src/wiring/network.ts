import { join } from 'node:path'
import { pooledHash } from '../content/pooled-hash.ts'
import { TAKEDOWNS } from '../disk/file-names.ts'
import { nodeFileSystem } from '../disk/file-system.ts'
import { PeerBlocks } from '../gateway/policy/peer-blocks.ts'
import { Takedowns } from '../gateway/policy/takedowns.ts'
import { loadNetwork } from '../network/load-network.ts'
import type { Connection, NetworkNode } from '../network/network-node.ts'
import type { ClustersModule } from './clusters.ts'
import type { Setup } from './setup.ts'
import type { StorageModule } from './storage.ts'

export type NetworkModule = ReturnType<typeof makeNetwork>

/** What the node asks others with, and is asked by; there is none until it has started, and while networking is off. */
export function makeNetwork(
  { dataDir, config, clock, logger, fileSystem = nodeFileSystem }: Setup,
  { datastore, heldRoots, threads }: StorageModule,
  { live }: ClustersModule,
) {
  const takedowns = Takedowns.open(join(dataDir, TAKEDOWNS), { fileSystem, clock, logger })
  const blocks = new PeerBlocks(live, heldRoots, takedowns)
  let node: NetworkNode | null = null
  return {
    takedowns,
    get node(): NetworkNode | null {
      return node
    },
    peerCount: (): number => node?.peerCount() ?? 0,
    addresses: (): string[] => node?.addresses() ?? [],
    peerId: (): string | null => node?.peerId ?? null,
    connections: (): readonly Connection[] => node?.connections() ?? [],
    start: async (): Promise<void> => {
      if (config.network?.enabled !== true) return
      const hash = pooledHash(threads)
      node = await loadNetwork({ config: config.network, blocks, datastore, clock, logger, hash })
    },
    stop: async (): Promise<void> => node?.stop(),
  }
}
