import { expect, test } from 'vitest'
import { randomFile } from '../../pins/fetches/support/dags.ts'
import { withNet } from '../../pins/fetches/support/net.ts'
import { readFile } from '../../support/read-back.ts'
import { carOf, streamOf } from './support/cars.ts'

test('only the blocks missing from a CAR are fetched from the network', () => {
  const dag = randomFile(20, 40_000, 'completion')
  const lacking = dag.blocks.slice(5, 8)
  return withNet(async net => {
    const provider = await net.provider(dag.blocks)
    const node = await net.node({ network: { peers: [provider.address] } })
    const car = await carOf(
      [dag.root],
      dag.blocks.filter(block => !lacking.includes(block)),
    )
    const { record, roots } = await node.engine.pins.importCar(streamOf(car), {
      account: node.account,
      allowPartial: true,
    })
    expect(record.status).toBe('failed')
    expect(roots[0]?.missing).toEqual({ blocks: 3, first: lacking[0]?.cid.toString() })
    await node.reached('pinned')
    expect(node.changes).toEqual(['failed>queued', 'queued>pinning', 'pinning>pinned'])
    expect(provider.blocks.total).toBe(3)
    const cid = dag.root.toString()
    expect(await readFile(await node.engine.clusters.backendOf(), cid)).toHaveLength(20 * 40_000)
    const [progress] = await node.engine.pins.status({ account: node.account, cid })
    expect(progress?.record).toMatchObject({ uploadId: record.uploadId, status: 'pinned', size: 20 * 40_000 })
  })
})
