import type { BackendAdapter } from '../../src/clusters/backend-adapter.ts'
import { ipfsClusterKind } from './definition.ts'
import type { IpfsClusterBackendDefinition } from './options.ts'

export type { IpfsClusterBackendDefinition } from './options.ts'

/**
 * The adapter for clusters on an IPFS Cluster. Pass it to an engine: `createEngine({ adapters: [ipfsCluster] })`.
 *
 * @example const engine = await createEngine({ dataDir: '/data', adapters: [ipfsCluster] })
 */
export const ipfsCluster: BackendAdapter<IpfsClusterBackendDefinition> = {
  ...ipfsClusterKind,
  open: async (clusterId, definition, means) => {
    const { openIpfsCluster } = await import('./open-ipfs-cluster.ts')
    return openIpfsCluster(clusterId, definition, means)
  },
}
