import type { AdapterMeans, OpenedPlace } from '../../src/clusters/backend-adapter.ts'
import { withoutTrailingSlashes } from '../../src/domain/trailing-slashes.ts'
import { openPlaceMeans } from '../remote/place-means.ts'
import { authorizationOf } from '../remote/secrets.ts'
import { IpfsClusterApi } from './ipfs-cluster-api.ts'
import { IpfsClusterBackend } from './ipfs-cluster-backend.ts'
import type { IpfsClusterBackendDefinition } from './options.ts'

/**
 * Opens the connection, which the caller closes.
 * @throws HoldfastError `CONFIG_INVALID` if the credentials cannot be read
 */
export async function openIpfsCluster(
  clusterId: string,
  definition: IpfsClusterBackendDefinition,
  { clock, environment }: AdapterMeans,
): Promise<OpenedPlace> {
  const authorization = await authorizationOf(clusterId, definition, environment)
  const { http, readerOf, close } = openPlaceMeans(clock)
  const { gateways = [], replicationMin: min, replicationMax: max } = definition
  const api = new IpfsClusterApi({ url: withoutTrailingSlashes(definition.api), authorization, http, clock })
  const reader = gateways.length > 0 ? readerOf(gateways) : null
  const options = { api, replication: min === undefined ? null : { min, max: max ?? min }, reader, clock }
  return { connect: (mark, addresses) => new IpfsClusterBackend({ ...options, mark, addresses }), reader, close }
}
