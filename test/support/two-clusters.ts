import { join } from 'node:path'
import type { ClusterDefinition } from '../../src/domain/cluster.ts'
import { withTempDir } from './temp-dir.ts'
import { type TestEngine, withEngine } from './test-engine.ts'

export interface TwoClusters extends TestEngine {
  /** Data directory of the clusters `far` and `far-too`. */
  farDir: string
  clusters: ClusterDefinition[]
}

/**
 * Runs a test with the clusters `near`, in the engine's own directory, and `far` and `far-too`, in another directory.
 */
export function withClusters(run: (test: TwoClusters) => Promise<void>): Promise<void> {
  return withTempDir(dir => {
    const farDir = join(dir, 'far')
    const cluster = { region: '', country: null, gateways: [] }
    const clusters = [
      { ...cluster, id: 'near', label: 'Near' },
      { ...cluster, id: 'far', label: 'Far', dataDir: farDir },
      { ...cluster, id: 'far-too', label: 'Far, too', dataDir: farDir },
    ]
    return withEngine(test => run(Object.assign(test, { farDir, clusters })), { clusters, defaultCluster: 'near' })
  })
}
