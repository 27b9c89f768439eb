import { setTimeout as sleep } from 'node:timers/promises'
import { AUTHORIZATION, type IpfsCluster } from '../../test/support/ipfs-cluster.ts'
import { rootIn } from '../services/cluster.ts'
import type { KuboService } from '../services/kubo.ts'
import { call } from '../services/service.ts'
import type { Keeper } from './keeper.ts'

export const REPLICATION = { min: 2, max: 3 }
const LOOK_EVERY_MS = 20
const AT_ONCE = 50

/** Adapts a Kubo, used as by `ipfs add`, which answers after the pin. */
export function kuboItself(kubo: KuboService): Keeper {
  return {
    ...kubo,
    ...{ name: 'kubo', pids: [], theirs: kubo.pids },
    read: path => readOf(kubo.read?.(path)),
    untilPinned: async () => undefined,
    forget: async () => undefined,
    // The caller stops the Kubo itself.
    stop: async () => undefined,
  }
}

/** Adapts an IPFS Cluster, used as by `ipfs-cluster-ctl add`. Its peers report when content is pinned. */
export function ipfsClusterItself({ peers, first }: IpfsCluster): Keeper {
  const to = (method: string, path: string) => ({
    ...{ method, url: `${first.api}${path}` },
    headers: { authorization: AUTHORIZATION },
  })
  const query = new URLSearchParams({
    ...{ 'stream-channels': 'false', progress: 'false', 'cid-version': '1', 'raw-leaves': 'true' },
    ...{ chunker: 'size-1048576', 'replication-min': `${REPLICATION.min}`, 'replication-max': `${REPLICATION.max}` },
  })
  return {
    ...{ name: 'ipfs-cluster', pids: [], theirs: peers.flatMap(({ pids }) => pids), isComparable: false },
    upload: kind => to('POST', `/add?${query}${kind === 'tree' ? '&wrap-with-directory=true' : ''}`),
    rootOf: rootIn,
    read: path => ({ method: 'GET', url: `${first.gateway}/ipfs/${path}`, headers: {} }),
    remove: cid => to('DELETE', `/pins/${cid}`),
    async untilPinned(roots) {
      for (let left = [...roots]; left.length > 0; ) {
        const looked = left.splice(0, AT_ONCE)
        const pinned = pinnedIn(await call(to('GET', `/pins?cids=${looked.join(',')}`)))
        const others = looked.filter(cid => !pinned.has(cid))
        if (others.length > 0) await sleep(LOOK_EVERY_MS)
        left = [...others, ...left]
      }
    },
    forget: async () => undefined,
    stop: async () => undefined,
  }
}

function pinnedIn(lines: string): Set<string> {
  const all = lines
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as { cid: string; peer_map: Record<string, { status: string }> })
  const enough = all.filter(({ peer_map }) => {
    return Object.values(peer_map).filter(({ status }) => status === 'pinned').length >= REPLICATION.min
  })
  return new Set(enough.map(({ cid }) => cid))
}

function readOf<T>(read: T | undefined): T {
  if (read === undefined) throw new Error('the service has no gateway')
  return read
}
