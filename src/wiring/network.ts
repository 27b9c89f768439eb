import type { Datastore } from 'interface-datastore'
import type { LiveContent } from '../content/live-content.ts'
import type { EngineConfig } from '../domain/options.ts'
import type { HostBlocks } from '../network/host-blocks.ts'
import { loadNetwork } from '../network/load-network.ts'
import type { NetworkNode } from '../network/network-node.ts'
import { Announcer } from '../pins/announcer.ts'
import type { PinRecord } from '../pins/types.ts'
import type { Parts } from './container.ts'
import { T } from './tokens.ts'

/** Starts the network node if the configuration asks for one; null otherwise. The caller stops it. */
export async function startNetwork(
  parts: Parts,
  { network }: EngineConfig,
  datastore: Datastore,
): Promise<NetworkNode | null> {
  if (network?.enabled !== true) return null
  const blocks = hostBlocks(parts.get(T.liveContent))
  return loadNetwork({ config: network, blocks, datastore, clock: parts.get(T.clock), logger: parts.get(T.logger) })
}

/** Begins to fetch what records wait for, and to tell routers of what is pinned. Returns what ends both. */
export async function useNetwork(parts: Parts, node: NetworkNode): Promise<() => void> {
  const announcer = new Announcer({
    announcing: node,
    roots: parts.get(T.heldRoots),
    clock: parts.get(T.clock),
    logger: parts.get(T.logger),
  })
  const pinned = (record: PinRecord): void => {
    if (record.status === 'pinned') announcer.pinned(record)
  }
  const scheduler = parts.get(T.fetchScheduler)
  parts.get(T.pinChanges).observe({
    created: pinned,
    changed: pinned,
    removed: record => announcer.removed(record),
  })
  announcer.start()
  await scheduler.start(node)
  return () => announcer.stop()
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
