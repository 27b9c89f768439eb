import { describe, expect, test } from 'vitest'
import type { Offer } from '../../src/catalogue/offers.ts'
import { HoldfastError } from '../../src/domain/errors.ts'
import { silentLogger } from '../../src/domain/logger.ts'
import type { DagIdentity } from '../../src/ipld/cid.ts'
import { Offering } from '../../src/upkeep/offering.ts'
import { dagOf } from '../catalogue/content-support.ts'
import { ManualClock } from '../support/manual-clock.ts'

const AWAY = dagOf('away')
const THERE = dagOf('there')
const HAD = dagOf('had')

/** Offers to this node. Each node that offers {@link AWAY} answers 503, and {@link THERE} is damaged on its node. */
function offering(...given: Array<[recordId: string, node: string, dag: DagIdentity]>) {
  const taken: string[] = []
  const all = given.map(([recordId, node, dag]): Offer => ({ recordId, node, nodeId: node, dag }))
  const read = (code: 'UNAVAILABLE' | 'BLOCK_DAMAGED') => Promise.reject(new HoldfastError(code, 'it is away'))
  const work = new Offering({
    offers: {
      pending: async () => null,
      open: async ({ after, limit }) =>
        all.filter(({ recordId }) => recordId > after && !taken.includes(recordId)).slice(0, limit),
      has: (_, dag) => dag === HAD,
      take: async ({ recordId }) => {
        taken.push(recordId)
        return []
      },
    } as Partial<ConstructorParameters<typeof Offering>[0]['offers']> as never,
    past: { learn: () => undefined },
    homes: () => new Map([['near', 0]]),
    backendOf: () => ({ staging: { take: (_: unknown, source: { read(): unknown }) => source.read() } }) as never,
    readerOf: node => ({ read: () => read(node === 'damaged' ? 'BLOCK_DAMAGED' : 'UNAVAILABLE') }),
    onChanges: async () => undefined,
    clock: new ManualClock(),
    logger: silentLogger,
  })
  return { taken, run: () => work.run(new AbortController().signal) }
}

describe('offers to a node', () => {
  test('a node that is away delays no offers of other nodes', async () => {
    const { taken, run } = offering(['r1', 'away', AWAY], ['r2', 'away', HAD], ['r3', 'there', HAD])
    await run()
    expect(taken).toEqual(['r3'])
  })

  test('the next run tries the offers behind an unanswered one', async () => {
    const { taken, run } = offering(['r1', 'x', AWAY], ['r2', 'x', HAD], ['r3', 'x', AWAY], ['r4', 'x', HAD])
    for (let i = 0; i < 3; i++) await run()
    expect(taken).toEqual(['r2', 'r4'])
  })

  test('damaged content delays no other offers of its node', async () => {
    const { taken, run } = offering(['r1', 'damaged', THERE], ['r2', 'damaged', HAD])
    await run()
    expect(taken).toEqual(['r2'])
  })
})
