import type { BackendDefinition } from '../../src/domain/cluster.ts'
import { type Net, type Node, quick } from '../pins/fetches/support/net.ts'

const cluster = { label: '', region: '', country: null, gateways: [] }

/** A node whose cluster `far` is kept elsewhere, where content that is pinned by CID is fetched, with no copy of it here. */
export function nodeWithFar(net: Net, backend: BackendDefinition, environment: Record<string, string>): Promise<Node> {
  const clusters = [
    { ...cluster, id: 'near' },
    { ...cluster, id: 'far', backend: { ...backend, localGraceSeconds: 0, cacheBytes: 0 } },
  ]
  return net.node({ clusters, defaultCluster: 'near', environment, pin: { ...quick, waitSeconds: 100 } })
}
