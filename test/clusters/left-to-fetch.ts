import type { BackendDefinition } from '../../src/domain/cluster.ts'
import { type Net, type Node, quick } from '../pins/fetches/support/net.ts'

const cluster = { label: '', region: '', country: null, gateways: [] }

/** Runs a node whose external cluster `far` fetches pins by CID itself. The node keeps no copy. */
export function nodeWithFar(net: Net, backend: BackendDefinition, environment: Record<string, string>): Promise<Node> {
  const clusters = [
    { ...cluster, id: 'near' },
    { ...cluster, id: 'far', backend: { ...backend, localGraceSeconds: 0, cacheBytes: 0 } },
  ]
  return net.node({ clusters, defaultCluster: 'near', environment, pin: { ...quick, waitSeconds: 100 } })
}
