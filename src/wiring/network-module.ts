import { join } from 'node:path'
import { pooledHash } from '../content/pooled-hash.ts'
import { ReachWalker } from '../content/reach-walk.ts'
import { Withholding } from '../content/withholding.ts'
import { TAKEDOWNS } from '../disk/file-names.ts'
import { nodeFileSystem } from '../disk/node-file-system.ts'
import type { Clock } from '../domain/clock.ts'
import { PeerBlocks } from '../gateway/policy/peer-blocks.ts'
import { Takedowns } from '../gateway/policy/takedowns.ts'
import type { Connection, NetworkNode, NetworkOptions } from '../network/network-node.ts'
import type { ClustersModule } from './clusters-module.ts'
import type { Setup } from './setup.ts'
import type { StorageModule } from './storage-module.ts'

const RETRY_MS = 400

export type NetworkModule = ReturnType<typeof makeNetwork>

/**
 * Creates the module with `node` as null, until the network has started.
 * @param load loads the large packages of the network, which an engine without a network never needs
 */
export function makeNetwork(
  { dataDir, config, clock, logger, fileSystem = nodeFileSystem }: Setup,
  { datastore, threads, shared, withheld, reach }: StorageModule,
  { live, registry, reachableAt }: ClustersModule,
  load: () => Promise<{ startNetwork: (options: NetworkOptions) => Promise<NetworkNode> }>,
) {
  const walker = new ReachWalker(reach, id => registry.readerOf(id))
  const withholding = new Withholding({ table: withheld, walks: reach, walker, clock, logger })
  const means = { fileSystem, clock, logger, shared: shared?.takedowns ?? null, withholding }
  const takedowns = Takedowns.open(join(dataDir, TAKEDOWNS), means)
  const followed = following(() => takedowns.follow(), clock)
  const blocks = new PeerBlocks(live, takedowns)
  let node: NetworkNode | null = null
  return {
    takedowns,
    blocks,
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
      shared?.changes.takedowns(followed.soon)
      // Load the takedowns first. Otherwise a peer could receive a block that is taken down.
      await takedowns.start()
      await takedowns.follow()
      withholding.start()
      if (config.network?.enabled !== true) return
      const hash = pooledHash(threads)
      const { startNetwork } = await load()
      const started = await startNetwork({ config: config.network, blocks, datastore, clock, logger, hash })
      node = started
      reachableAt(() => started.addresses())
    },
    stop: async (): Promise<void> => {
      followed.end()
      await withholding.stop()
      await node?.stop()
    },
  }
}

/** Returns `soon`, which calls `follow` until it succeeds, and `end`, which stops the repetition. */
function following(follow: () => Promise<void>, clock: Clock): { soon: () => void; end: () => void } {
  let cancel: () => void = () => undefined
  let isEnded = false
  const soon = (): void => {
    cancel()
    follow().catch(() => {
      if (!isEnded) cancel = clock.after(RETRY_MS, soon)
    })
  }
  const end = (): void => {
    isEnded = true
    cancel()
  }
  return { soon, end }
}
