import { describe, expect, test } from 'vitest'
import { ipfsCluster } from '../../../adapters/ipfs-cluster/index.ts'
import { AUTH } from '../../support/ipfs-cluster.ts'
import { needsPostgres } from '../../support/postgres-server.ts'
import { bothReportALostPin } from '../fleet/lost-pin.ts'
import { onRealCluster, realCluster } from './reached.ts'

describe('the status of a pin that a real IPFS Cluster has lost', needsPostgres, () => {
  const cluster = realCluster()

  test('reaches all nodes with the first check', onRealCluster, async () => {
    const { first, peers } = cluster()
    await bothReportALostPin({
      url: first.api,
      backend: api => ({
        ...{ type: 'ipfs-cluster', api, authEnv: 'CLUSTER_AUTH', gateways: peers.map(({ gateway }) => gateway) },
        ...{ replicationMin: 2, replicationMax: 3 },
      }),
      adapters: [ipfsCluster],
      environment: { CLUSTER_AUTH: AUTH },
      isSend: ({ method, url }) => method === 'POST' && /^\/(add|pins\/)/.test(url ?? ''),
      lose: async () => {
        const pins = (await first.ask('GET', '/allocations')).trim().split('\n')
        for (const pin of pins) await first.ask('DELETE', `/pins/${(JSON.parse(pin) as { cid: string }).cid}`)
        expect(pins).not.toEqual([])
      },
      refused: /^UNAVAILABLE: the IPFS Cluster/,
    })
  })
})
