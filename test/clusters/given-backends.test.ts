import { once } from 'node:events'
import { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import { createEngine, type Engine, type EngineOptions, HoldfastError, type PinRecord } from '../../src/index.ts'
import { identityOf } from '../../src/ipld/cid.ts'
import { settled } from '../../src/testing/index.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { newDirectory } from '../support/new-database.ts'
import { viaGateway } from '../support/read-back.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { withEngine } from '../support/test-engine.ts'
import { describeBackend, keptFromOutside } from './backend.suite.ts'
import { MemoryCluster } from './memory-cluster.ts'

const CONTENT = pseudoRandom(1_500_000, 'given')
const cluster = { region: '', country: null, gateways: [] }
const clusters: EngineOptions['clusters'] = [
  { ...cluster, id: 'near', label: 'Near' },
  { ...cluster, id: 'far', label: 'Far' },
]

describeBackend('one of the host program, by the types of the package alone', async run => {
  const backend = new MemoryCluster()
  await run({ ...keptFromOutside(backend), collect: async () => backend.blockCount })
})

/** Waits until the record is `pinned`, and returns it. */
function pinned(engine: Engine, cid: string): Promise<PinRecord> {
  return new Promise(resolve => {
    engine.events.on('pin:status', ({ record }) => {
      if (record.cid === cid && record.status === 'pinned') resolve(record)
    })
  })
}

describe('an engine with a backend of the host program', () => {
  test('pins content of its cluster, and unpins removed content', async () => {
    const far = new MemoryCluster()
    await withEngine(
      async ({ engine, account }) => {
        const { cid } = (await engine.pins.upload(CONTENT, { account, cluster: 'near' })).record
        expect(far.blockCount).toBe(0)
        const placed = pinned(engine, cid)
        const { record } = await engine.pins.upload(CONTENT, { account, cluster: 'far' })
        expect(record).toMatchObject({ cid, clusterId: 'far', status: 'pinning' })
        expect((await placed).uploadId).toBe(record.uploadId)
        expect(far.blockCount).toBe(3)
        const backend = await engine.clusters.backendOf('far')
        expect(await backend.status(identityOf(CID.parse(cid)))).toMatchObject({ state: 'pinned' })
        await engine.pins.remove({ account, cid, cluster: 'near' })
        expect((await viaGateway(engine, `/ipfs/${cid}`)).bytes.equals(CONTENT)).toBe(true)
        await engine.pins.remove({ account, cid })
        await settled(engine)
        expect(far.blockCount).toBe(0)
      },
      { clusters, defaultCluster: 'near', backends: { far } },
    )
  })

  test('keeps content the backend refuses, and sends it after a restart', async () => {
    const far = new MemoryCluster()
    const asked = new EventTarget()
    far.beforePin = () => {
      asked.dispatchEvent(new Event('pin'))
      throw new HoldfastError('UNAVAILABLE', 'not now')
    }
    await withEngine(
      async test => {
        const { account } = test
        const first = once(asked, 'pin')
        const { record } = await test.engine.pins.upload(CONTENT, { account, cluster: 'far' })
        await first
        const [progress] = await test.engine.pins.status({ account, cid: record.cid })
        expect(progress?.record.status).toBe('pinning')
        expect((await viaGateway(test.engine, `/ipfs/${record.cid}`)).bytes.equals(CONTENT)).toBe(true)
        far.beforePin = () => undefined
        test.clock.advance(3_600_000)
        await test.restart()
        await settled(test.engine)
        expect(far.blockCount).toBe(3)
        const [sent] = await test.engine.pins.status({ account, cid: record.cid })
        expect(sent?.record.status).toBe('pinned')
      },
      { clusters, defaultCluster: 'near', backends: { far } },
    )
  })

  test.each<[string, Partial<EngineOptions>, string]>([
    [
      'of no cluster',
      { backends: { elsewhere: new MemoryCluster() } },
      'backends: elsewhere is not a configured cluster',
    ],
    ['that is none', { backends: { far: {} as MemoryCluster } }, 'backends: far must be a ClusterBackend'],
    [
      'of a cluster with a directory',
      {
        clusters: [...clusters, { ...cluster, id: 'own', label: 'Own', dataDir: 'own' }],
        backends: { own: new MemoryCluster() },
      },
      'backends: own names a cluster with a configured dataDir',
    ],
  ])('refuses one %s', (_, options, message) =>
    withTempDir(async dataDir => {
      const started = createEngine({ clusters, defaultCluster: 'near', ...options, dataDir: newDirectory(dataDir) })
      await expect(started).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining(message),
      })
    }),
  )
})
