import type { AdapterMeans, OpenedPlace } from '../../src/clusters/backend-adapter.ts'
import { withoutTrailingSlashes } from '../../src/domain/trailing-slashes.ts'
import { openPlaceMeans } from '../remote/place-means.ts'
import { secretOf } from '../remote/secrets.ts'
import { HoldfastBackend } from './holdfast-backend.ts'
import type { HoldfastBackendDefinition } from './options.ts'

/**
 * Opens the connection, which the caller closes.
 * @throws HoldfastError `CONFIG_INVALID` if the key cannot be read
 */
export async function openHoldfast(
  clusterId: string,
  { keyFile: file, keyEnv: env, cluster, gateway, ...definition }: HoldfastBackendDefinition,
  { clock, environment }: AdapterMeans,
): Promise<OpenedPlace> {
  const key = await secretOf(`clusters: ${clusterId}.backend`, { name: 'key', file, env }, environment)
  const { http, readerOf, close } = openPlaceMeans(clock)
  const url = withoutTrailingSlashes(definition.url)
  const reader = readerOf([gateway ?? url.replace(/\/api\/v3$/, '')])
  return { connect: mark => new HoldfastBackend({ url, key, cluster, send: http.send, reader, mark }), reader, close }
}
