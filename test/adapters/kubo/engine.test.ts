import { describe, expect, test } from 'vitest'
import { kubo } from '../../../adapters/kubo/index.ts'
import { type ClusterDefinition, createEngine } from '../../../src/index.ts'
import { until } from '../../clusters/remote-support.ts'
import { newDirectory } from '../../support/new-database.ts'
import { viaGateway } from '../../support/read-back.ts'
import { withTempDir } from '../../support/temp-dir.ts'
import { error, type Handlers, HostileRpc } from './hostile-rpc.ts'

const cluster = { label: '', region: '', country: null, gateways: [] }

function withCluster(
  handlers: Handlers,
  run: (parts: { dataDir: string; hostile: HostileRpc; clusters: ClusterDefinition[] }) => Promise<void>,
): Promise<void> {
  return withTempDir(async dataDir => {
    await using hostile = await HostileRpc.start(handlers)
    const kubo = { type: 'kubo' as const, api: `${hostile.base}/api/v0/`, authEnv: 'KUBO_AUTH' }
    const clusters = [
      { ...cluster, id: 'near' },
      { ...cluster, id: 'far', backend: kubo },
    ]
    await run({ dataDir, hostile, clusters })
  })
}

describe('a node with a cluster on a Kubo', () => {
  test.each<[what: string, handlers: Handlers, isSent: boolean, told: string]>([
    ['refuses', { config: error('no', 403) }, false, 'it answered 403'],
    ['has not what it says', {}, true, 'it reported a pin that does not exist'],
  ])('keeps a local copy while the Kubo %s, and reports why', async (_, handlers, isSent, told) => {
    await withCluster(handlers, async ({ dataDir, hostile, clusters }) => {
      const environment = { KUBO_AUTH: 'bearer:a-token' }
      const engine = await createEngine({
        adapters: [kubo],
        dataDir: newDirectory(dataDir),
        clusters,
        defaultCluster: 'near',
        environment,
      })
      try {
        const { id: account } = await engine.accounts.create({ email: 'a@example.org', plan: 'unlimited' })
        const { record } = await engine.pins.upload(Buffer.from('few'), { account, cluster: 'far' })
        expect(record.status).toBe('pinning')
        const statusNow = async () => (await engine.pins.status({ account, cid: record.cid }))[0]
        await until('it was tried', async () => ((await statusNow())?.lastError ?? null) !== null)
        const status = await statusNow()
        expect(status?.record.status).toBe('pinning')
        expect(status?.lastError).toBe(`UNAVAILABLE: the Kubo of the cluster: ${told}`)
        expect(hostile.asked.includes('dag/import')).toBe(isSent)
        expect(new Set(hostile.keys)).toEqual(new Set(['Bearer a-token']))
        expect((await viaGateway(engine, `/ipfs/${record.cid}`)).bytes.toString()).toBe('few')
      } finally {
        await engine.stop()
      }
    })
  })

  test('does not start without its credentials', async () => {
    await withCluster({}, async ({ dataDir, clusters }) => {
      const started = createEngine({
        adapters: [kubo],
        dataDir: newDirectory(dataDir),
        clusters,
        defaultCluster: 'near',
        environment: {},
      })
      await expect(started).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: 'clusters: far.backend.authEnv KUBO_AUTH is empty',
      })
    })
  })
})
