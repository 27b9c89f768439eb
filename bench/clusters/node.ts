import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BackendDefinition } from '../../src/domain/cluster.ts'
import { serviceOf, startStandalone } from '../services/holdfast.ts'
import { readerThreads } from '../services/reader-threads.ts'
import { call } from '../services/service.ts'
import type { Keeper } from './keeper.ts'

const LOOK_EVERY_MS = 20
const CLUSTER = 'kept'

/** The node deletes its own copies, so that all reads come from the cluster's system. */
const KEPT_THERE = { cacheBytes: 0, localGraceSeconds: 0 }

/**
 * Starts the standalone server with one cluster.
 *
 * @param backend system that keeps the cluster; null for the server itself
 * @param theirs process ids of that system
 */
export async function startNode(
  dir: string,
  name: string,
  backend: BackendDefinition | null,
  theirs: readonly number[],
): Promise<Keeper> {
  const dataDir = join(dir, 'data')
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const config = join(dir, 'config.json')
  const kept = { id: CLUSTER, ...(backend !== null && { backend: { ...backend, ...KEPT_THERE } }) }
  const clusters = [{ label: '', region: '', country: null, gateways: [], ...kept }]
  await writeFile(config, JSON.stringify({ network: { enabled: false }, clusters, defaultCluster: CLUSTER }))
  const standalone = await startStandalone(dataDir, { config })
  const { server, headers, gateway } = standalone
  const service = serviceOf(standalone)
  const waiting = { method: 'GET', url: `${server.url}/api/v3/users/me/uploads?status=pinning&limit=1`, headers }
  try {
    await readerThreads(gateway)
  } catch (error) {
    await server.stop()
    throw error
  }
  return {
    ...service,
    name,
    theirs,
    read: path => ({ method: 'GET', url: gateway + path, headers: {} }),
    async untilPinned() {
      while ((JSON.parse(await call(waiting)) as { total: number }).total > 0) await sleep(LOOK_EVERY_MS)
    },
    forget: async () => service.collect?.(),
  }
}
