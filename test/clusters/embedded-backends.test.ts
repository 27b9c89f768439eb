import { join } from 'node:path'
import { CID } from 'multiformats/cid'
import { type StagingBackend, stagingOf } from '../../src/clusters/staging-backend.ts'
import { withDatabase } from '../support/store-inspection.ts'
import { withClusters } from '../support/two-clusters.ts'
import { type BackendUnderTest, describeBackend, describeStaging } from './backend.suite.ts'

for (const cluster of ['near', 'far']) {
  const name = cluster === 'near' ? "the engine's own directory" : 'a directory of its own'
  const withBackend = (run: (under: BackendUnderTest & { backend: StagingBackend }) => Promise<void>) =>
    withClusters(async ({ engine, account, dataDir }) => {
      const backend = stagingOf(await engine.clusters.backendOf(cluster))
      await run({
        backend,
        keep: async content => CID.parse((await engine.pins.upload(content, { account, cluster })).record.cid),
        release: async cid => {
          await engine.pins.remove({ account, cid: cid.toString() })
        },
        collect: async () => {
          await engine.collect({ graceSeconds: 0 })
          const count = 'SELECT COUNT(*) AS count FROM blocks WHERE backend_id = ?'
          return withDatabase(
            join(dataDir),
            db => db.prepare<[number], { count: number }>(count).get(backend.id)?.count ?? -1,
          )
        },
      })
    })
  describeBackend(name, withBackend)
  describeStaging(name, withBackend)
}
