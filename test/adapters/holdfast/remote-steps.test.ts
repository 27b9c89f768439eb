import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { statusOf, type TwoNodes, until, withTwoNodes } from '../../clusters/remote-support.ts'
import { callApi } from '../../support/api-call.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { viaGateway } from '../../support/read-back.ts'
import { withDatabase } from '../../support/store-inspection.ts'

const CONTENT = pseudoRandom(1024 ** 2 + 1_000, 'steps')

async function upload({ here, account }: TwoNodes, cluster = 'far'): Promise<string> {
  return (await here.pins.upload(CONTENT, { account, cluster, name: 'file' })).record.cid
}

function pinned(nodes: TwoNodes, cid: string): Promise<void> {
  return until('it is pinned', async () => (await statusOf(nodes, cid)) === 'pinned')
}

function recordsThere({ there }: TwoNodes): Promise<number> {
  return there.engine.pins.list({ account: there.account }).then(({ total }) => total)
}

async function readsBack({ here }: TwoNodes, cid: string): Promise<void> {
  const { status, bytes } = await viaGateway(here, `/ipfs/${cid}`)
  expect(status).toBe(200)
  expect(bytes.equals(CONTENT)).toBe(true)
}

/**
 * Removes a pin and holds back the first request of a method to the other node. Returns a function that releases it.
 */
async function removeHeldUp({ here, there, account }: TwoNodes, cid: string, held: string): Promise<() => void> {
  const release = Promise.withResolvers<void>()
  const arrived = Promise.withResolvers<void>()
  there.gate = async ({ method }) => {
    if (method !== held) return
    arrived.resolve()
    await release.promise
  }
  await here.pins.remove({ account, cid })
  await arrived.promise
  return release.resolve
}

interface Placement {
  wanted: number
  placed: number
  unpinUntil: number
}

function placements({ dir }: TwoNodes): Placement[] {
  return withDatabase(join(dir, 'here'), db =>
    db.prepare<[], Placement>('SELECT wanted, placed, unpin_until AS unpinUntil FROM placements').all(),
  )
}

describe('placements of a cluster on another node', () => {
  test('an upload is accepted and readable while the other node is down', async () => {
    await withTwoNodes(async nodes => {
      await nodes.there.stop()
      const cid = await upload(nodes)
      await until('it was tried', async () => {
        const [progress] = await nodes.here.pins.status({ account: nodes.account, cid })
        return progress?.lastError?.startsWith('UNAVAILABLE') === true
      })
      expect(await statusOf(nodes, cid)).toBe('pinning')
      await readsBack(nodes, cid)
      await nodes.restart()
      expect(await statusOf(nodes, cid)).toBe('pinning')
      await readsBack(nodes, cid)
      await nodes.there.start()
      await pinned(nodes, cid)
      await readsBack(nodes, cid)
    })
  })

  test('a removal while the other node is down survives a restart', async () => {
    await withTwoNodes(async nodes => {
      const cid = await upload(nodes)
      await pinned(nodes, cid)
      await nodes.there.stop()
      await nodes.here.pins.remove({ account: nodes.account, cid })
      await nodes.restart()
      await nodes.there.start()
      await until('the other has let go', async () => (await recordsThere(nodes)) === 0)
      await until('the row is gone', () => placements(nodes).length === 0)
    })
  })

  test('an unpin in progress does not remove content wanted again', async () => {
    await withTwoNodes(async nodes => {
      const cid = await upload(nodes)
      await pinned(nodes, cid)
      // The worker has read the row, and its request is held back.
      const letGo = await removeHeldUp(nodes, cid, 'DELETE')
      expect(await upload(nodes)).toBe(cid)
      expect(await statusOf(nodes, cid)).toBe('pinning')
      await readsBack(nodes, cid)
      letGo()
      await pinned(nodes, cid)
      expect(await recordsThere(nodes)).toBe(1)
      await nodes.here.collect({ graceSeconds: 0 })
      await nodes.there.engine.collect({ graceSeconds: 0 })
      await readsBack(nodes, cid)
    })
  })

  test('a status check waits for an unpin with an unknown outcome', async () => {
    const clock = new ManualClock()
    const run = async (nodes: TwoNodes): Promise<void> => {
      const { there, account } = nodes
      const cid = await upload(nodes)
      await pinned(nodes, cid)
      there.gate = ({ method }, response) => {
        if (method === 'DELETE') response.destroy()
      }
      await nodes.here.pins.remove({ account, cid })
      await until('the removal was sent', () => there.asked.some(line => line.startsWith('DELETE')))
      await upload(nodes)
      await nodes.restart()
      // When a later upload has arrived, all earlier jobs are done.
      const { record } = await nodes.here.pins.upload(Buffer.from('other'), { account, cluster: 'far' })
      await pinned(nodes, record.cid)
      expect(await statusOf(nodes, cid)).toBe('pinning')
      await readsBack(nodes, cid)
      clock.advance(60_000)
      await pinned(nodes, cid)
    }
    await withTwoNodes(run, { options: { clock } })
  })

  test('content wanted just before the unpin request stays', async () => {
    await withTwoNodes(async nodes => {
      const cid = await upload(nodes)
      await pinned(nodes, cid)
      const letGo = await removeHeldUp(nodes, cid, 'GET')
      await upload(nodes)
      nodes.there.asked.length = 0
      letGo()
      await pinned(nodes, cid)
      expect(nodes.there.asked.filter(line => line.startsWith('DELETE'))).toEqual([])
    })
  })

  test('leaves other records of the account alone', async () => {
    await withTwoNodes(async nodes => {
      const { there } = nodes
      const cid = await upload(nodes)
      await pinned(nodes, cid)
      await there.engine.pins.upload(CONTENT, { account: there.account, cluster: 'cl1-eu', name: 'theirs' })
      await nodes.here.pins.remove({ account: nodes.account, cid })
      await until('the row is gone', () => placements(nodes).length === 0)
      const { items } = await there.engine.pins.list({ account: there.account })
      expect(items.map(({ name }) => name)).toContain('theirs')
    })
  })

  test('an expiry unpins content unless another cluster needs it', async () => {
    const clock = new ManualClock()
    const run = async (nodes: TwoNodes): Promise<void> => {
      const { here, account } = nodes
      const timelock = new Date(clock.now() + 60_000).toISOString()
      const { record } = await here.pins.upload(CONTENT, { account, cluster: 'far', name: 'file', timelock })
      await until('the other has it', async () => (await recordsThere(nodes)) === 1)
      await upload(nodes, 'near')
      clock.advance(60_000)
      await until('the other has let go', async () => (await recordsThere(nodes)) === 0)
      nodes.there.asked.length = 0
      await readsBack(nodes, record.cid)
      expect(nodes.there.asked.filter(line => line.includes('/ipfs/'))).toEqual([])
    }
    await withTwoNodes(run, { options: { clock } })
  })

  test('a cluster on another node accepts no node’s uploads', async () => {
    await withTwoNodes(async nodes => {
      const { here, account } = nodes
      const { secret } = await here.keys.create(account, { name: 'round', scopes: ['files:write', 'files:read'] })
      const ask = async (cluster: string, headers: Record<string, string>): Promise<string> => {
        const asked = {
          authorization: `Bearer ${secret}`,
          'content-type': 'application/vnd.ipld.car',
          body: 'not a CAR',
        }
        const { status, json } = await callApi(here, 'POST', '/files/car', {
          ...asked,
          'x-cluster': cluster,
          ...headers,
        })
        return `${status} ${json.code}`
      }
      expect(await ask('far', { 'holdfast-node': 'holdfast:another' })).toBe('403 CLUSTER_NOT_ALLOWED')
      expect(await ask('far', {})).not.toContain('CLUSTER_NOT_ALLOWED')
      expect(await ask('near', { 'holdfast-node': 'holdfast:another' })).not.toContain('CLUSTER_NOT_ALLOWED')
    })
  })

  test('reconciliation reports no problem with external content', async () => {
    await withTwoNodes(async nodes => {
      const cid = await upload(nodes)
      await pinned(nodes, cid)
      expect((await nodes.here.reconcile({ dryRun: true })).found).toEqual({})
      await nodes.there.stop()
      const { record } = await nodes.here.pins.upload(Buffer.from('waits'), { account: nodes.account, cluster: 'far' })
      expect((await nodes.here.reconcile()).found).toEqual({ 'cluster-unreachable': 1 })
      expect([await statusOf(nodes, cid), await statusOf(nodes, record.cid)]).toEqual(['pinned', 'pinning'])
    })
  })
})
