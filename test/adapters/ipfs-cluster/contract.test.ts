import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { contentAudits, openSettledWorld } from '../../clusters/settled-world.ts'
import { AUDITS_BEGIN, AuditClock } from '../../contract/hosts.ts'
import { AUTH } from '../../support/ipfs-cluster.ts'
import { onRealCluster, realCluster } from './reached.ts'

/** A clock that stands still, except for the pauses between status checks. */
class PollingClock extends AuditClock {
  override after(ms: number, callback: () => void): () => void {
    const cancel = super.after(ms, () => {
      clearTimeout(timer)
      callback()
    })
    const early = (): void => {
      cancel()
      callback()
    }
    const timer = ms > 5_000 ? undefined : setTimeout(early, ms).unref()
    return () => {
      clearTimeout(timer)
      cancel()
    }
  }
}

describe('the contract with all clusters on a real IPFS Cluster', onRealCluster, () => {
  const cluster = realCluster()
  let world: Awaited<ReturnType<typeof openSettledWorld>>

  beforeAll(async () => {
    const { peers, first } = cluster()
    const backend = {
      type: 'ipfs-cluster' as const,
      api: first.api,
      authEnv: 'CLUSTER_AUTH',
      gateways: peers.map(({ gateway }) => gateway),
      replicationMin: 2,
      replicationMax: 3,
    }
    world = await openSettledWorld(backend, { environment: { CLUSTER_AUTH: AUTH } }, new PollingClock(AUDITS_BEGIN))
  })

  afterAll(() => world.close())

  for (const audit of contentAudits) test(`${audit.id}: ${audit.name}`, () => audit.run(world))

  test('the IPFS Cluster has the content', async () => {
    const pins = (await cluster().first.ask('GET', '/allocations')).trim().split('\n')
    expect(pins.filter(line => line.includes('"name":"holdfast:')).length).toBeGreaterThan(20)
  })
})
