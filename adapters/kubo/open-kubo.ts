import type { AdapterMeans, OpenedPlace } from '../../src/clusters/backend-adapter.ts'
import { CheckedSource } from '../../src/content/block-source.ts'
import { openPlaceMeans } from '../remote/place-means.ts'
import { authorizationOf } from '../remote/secrets.ts'
import { kuboBase } from './definition.ts'
import { KuboBackend } from './kubo-backend.ts'
import { KuboRpc } from './kubo-rpc.ts'
import type { KuboBackendDefinition } from './options.ts'
import { RpcReader } from './rpc-reader.ts'

/**
 * Opens the connection, which the caller closes.
 * @throws HoldfastError `CONFIG_INVALID` if the credentials cannot be read
 */
export async function openKubo(
  clusterId: string,
  definition: KuboBackendDefinition,
  { clock, environment }: AdapterMeans,
): Promise<OpenedPlace> {
  const authorization = await authorizationOf(clusterId, definition, environment)
  const { http, readerOf, close } = openPlaceMeans(clock)
  const rpc = new KuboRpc({ url: kuboBase(definition.api), authorization, http, clock })
  const { gateways = [], acceptUnsyncedBackend: acceptUnsynced = false } = definition
  const reader = gateways.length > 0 ? readerOf(gateways) : new CheckedSource(new RpcReader(rpc))
  return { connect: mark => new KuboBackend({ rpc, mark, reader, clock, acceptUnsynced }), reader, close }
}
