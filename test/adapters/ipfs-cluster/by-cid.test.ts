import { describe, expect, test } from 'vitest'
import { nodeWithFar } from '../../clusters/left-to-fetch.ts'
import { directoryOf, leaf, randomFile } from '../../pins/fetches/support/dags.ts'
import { withNet } from '../../pins/fetches/support/net.ts'
import { collect } from '../../support/bytes.ts'
import { AUTH } from '../../support/ipfs-cluster.ts'
import { viaGateway } from '../../support/read-back.ts'
import { onRealCluster, realCluster } from './reached.ts'

const file = randomFile(20, 50_000, 'peers fetch it')
const tree = directoryOf({ 'a.bin': file, 'b.txt': leaf(Buffer.from('the other file')) })

describe('a real IPFS Cluster of three peers', onRealCluster, () => {
  const cluster = realCluster()

  test('fetches, counts and unpins a pin by CID', () =>
    withNet(async net => {
      const { first } = cluster()
      const provider = await net.provider(tree.blocks)
      const backend = {
        ...{ type: 'ipfs-cluster' as const, api: first.api, gateways: [first.gateway], authEnv: 'CLUSTER_AUTH' },
        ...{ replicationMin: 2, replicationMax: 3 },
      }
      const node = await nodeWithFar(net, backend, { CLUSTER_AUTH: AUTH })
      const { account, engine } = node
      const cid = tree.root.toString()
      const { record } = await engine.pins.pin({ account, cid, cluster: 'far', origins: [provider.address] })
      expect(node.reason()).toBeNull()
      expect(record).toMatchObject({ status: 'pinned', size: tree.size })
      await provider.stop()
      const expected = await collect(file.blocks.slice(1).map(({ bytes }) => bytes))
      expect((await viaGateway(engine, `/ipfs/${cid}/a.bin`)).bytes.equals(expected)).toBe(true)
      const pins = async () => (await first.ask('GET', '/allocations')).split('holdfast:').length - 1
      expect(await pins()).toBeGreaterThan(0)
      await engine.pins.remove({ account, cid })
      await expect.poll(pins, { timeout: 60_000 }).toBe(0)
    }))
})
