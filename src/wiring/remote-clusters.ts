import { readFile } from 'node:fs/promises'
import type { BlockSource } from '../content/block-source.ts'
import type { Clock } from '../domain/clock.ts'
import type { ClusterDefinition, HoldfastBackendDefinition } from '../domain/cluster.ts'
import { HoldfastError } from '../domain/errors.ts'
import { withoutTrailingSlashes } from '../domain/trailing-slashes.ts'
import type { SendHttp } from '../network/http-client.ts'

/** How to reach the node that keeps a cluster. */
export interface RemoteCluster {
  url: string
  key: string
  /** What the cluster is called there. */
  cluster: string
  send: SendHttp
  reader: BlockSource
  /** Bytes of its content that stay on this disk. */
  cacheBytes: number
}

/** The clusters that other nodes keep, by id. The caller closes them. */
export interface RemoteClusters {
  clusters: ReadonlyMap<string, RemoteCluster>
  close(): Promise<void>
}

export type Environment = Readonly<Record<string, string | undefined>>

const CACHE_BYTES = 1024 ** 3

/** @throws HoldfastError `CONFIG_INVALID` for a key that is not to be had */
export async function openRemotes(
  definitions: readonly ClusterDefinition[],
  { clock, environment }: { clock: Clock; environment: Environment },
): Promise<RemoteClusters> {
  const remote = definitions.flatMap(({ id, backend }) => (backend === undefined ? [] : [{ id, backend }]))
  if (remote.length === 0) return { clusters: new Map(), close: async () => undefined }
  const keys = new Map<string, string>()
  for (const { id, backend } of remote) keys.set(id, await keyOf(id, backend, environment))
  // Without such a cluster nothing of this is loaded.
  const { openHttpClient } = await import('../network/http-client.ts')
  const { GatewayClient } = await import('../network/sources/gateway-client.ts')
  const { GatewayReader } = await import('../clusters/holdfast/gateway-reader.ts')
  const http = openHttpClient()
  // The owner has named these places: they may be anywhere.
  const gateway = new GatewayClient({ trusted: new Set(), allowPrivate: true })
  const clusters = new Map<string, RemoteCluster>()
  for (const { id, backend } of remote) {
    const url = withoutTrailingSlashes(backend.url)
    const base = backend.gateway ?? url.replace(/\/api\/v3$/, '')
    clusters.set(id, {
      ...{ url, key: keys.get(id) ?? '', cluster: backend.cluster, send: http.send },
      reader: new GatewayReader(new URL(withoutTrailingSlashes(base).replace(/\/ipfs$/, '')), gateway, clock),
      cacheBytes: backend.cacheBytes ?? CACHE_BYTES,
    })
  }
  const close = async (): Promise<void> => {
    await Promise.all([http.close(), gateway.close()])
  }
  return { clusters, close }
}

/** The message names where the key was looked for, never what was found. */
async function keyOf(
  id: string,
  { keyFile, keyEnv }: HoldfastBackendDefinition,
  environment: Environment,
): Promise<string> {
  const fail = (field: string, problem: string, cause?: unknown): never => {
    throw new HoldfastError('CONFIG_INVALID', `clusters: ${id}.backend.${field} ${problem}`, { cause })
  }
  if (keyFile === undefined && keyEnv === undefined) return fail('keyFile', 'or keyEnv is needed')
  const field = keyFile === undefined ? 'keyEnv' : 'keyFile'
  const text =
    keyFile === undefined
      ? environment[keyEnv ?? '']
      : await readFile(keyFile, 'utf8').catch((cause: unknown) => fail('keyFile', `${keyFile} cannot be read`, cause))
  const key = text?.trim() ?? ''
  if (key === '') return fail(field, `${keyFile ?? keyEnv} has no key in it`)
  if (!/^[\x21-\x7e]+$/.test(key)) return fail(field, `${keyFile ?? keyEnv} has what is no key in it`)
  return key
}
