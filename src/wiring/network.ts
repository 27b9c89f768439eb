import type { LiveContent } from '../content/live-content.ts'
import type { HostBlocks } from '../network/host-blocks.ts'
import { loadNetwork } from '../network/load-network.ts'
import type { NetworkNode } from '../network/network-node.ts'
import type { ClustersModule } from './clusters.ts'
import type { Setup } from './setup.ts'
import type { StorageModule } from './storage.ts'

export type NetworkModule = ReturnType<typeof makeNetwork>

/** What the node asks others with, and is asked by; there is none until it has started, and while networking is off. */
export function makeNetwork({ config, clock, logger }: Setup, { datastore }: StorageModule, { live }: ClustersModule) {
  let node: NetworkNode | null = null
  return {
    get node(): NetworkNode | null {
      return node
    },
    peerCount: (): number => node?.peerCount() ?? 0,
    start: async (): Promise<void> => {
      if (config.network?.enabled !== true) return
      node = await loadNetwork({ config: config.network, blocks: hostBlocks(live), datastore, clock, logger })
    },
    stop: async (): Promise<void> => node?.stop(),
  }
}

/** Only what a live record needs is served. */
function hostBlocks(content: LiveContent): HostBlocks {
  return {
    has: cid => content.has(cid),
    get: async cid => {
      const leased = content.lease(cid)
      if (leased === null) return null
      try {
        return await leased.source.read(cid)
      } finally {
        leased.release()
      }
    },
  }
}
