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
/** Records whose content is taken concurrently. */
const AT_ONCE = 8

/** Offers to this node. Each node that offers {@link AWAY} answers 503, and {@link THERE} is damaged on its node. */
function offering(...given: Array<[recordId: string, node: string, dag: DagIdentity]>) {
  const taken: string[] = []
  const all = given.map(([recordId, node, dag]): Offer => {
    return { recordId, node, nodeId: node, dag: { ...dag, owner: 0 }, clusterId: 'near', backendId: null }
  })
  const read: string[] = []
  const readFrom = (node: string) => {
    read.push(node)
    return Promise.reject(new HoldfastError(node === 'damaged' ? 'BLOCK_DAMAGED' : 'UNAVAILABLE', 'it is away'))
  }
  const work = new Offering({
    offers: {
      pending: async () => null,
      compare: async () => false,
      assign: async () => undefined,
      open: async () => ({ offers: all.filter(({ recordId }) => !taken.includes(recordId)), last: null }),
      has: (_, dag) => dag.multihash === HAD.multihash,
      take: async ({ recordId }) => {
        taken.push(recordId)
        return { isEnded: true, changes: [] }
      },
    } as Partial<ConstructorParameters<typeof Offering>[0]['offers']> as never,
    past: { learn: () => undefined },
    homes: () => new Map([['near', 0]]),
    homeOf: () => 0,
    backendOf: () => ({ staging: { take: (_: unknown, source: { read(): unknown }) => source.read() } }) as never,
    readerOf: node => ({ read: () => readFrom(node) }),
    onChanges: async () => undefined,
    offered: async () => undefined,
    closed: () => undefined,
    clock: new ManualClock(),
    logger: silentLogger,
  })
  return { taken, read, run: () => work.run(new AbortController().signal) }
}

describe('offers to a node', () => {
  test('a node that is away delays no offers of other nodes', async () => {
    const unread = Array.from({ length: 50 }, (_, i): [string, string, DagIdentity] => [`r${100 + i}`, 'away', AWAY])
    const { taken, read, run } = offering(...unread, ['r200', 'there', HAD])
    await run()
    expect(taken).toEqual(['r200'])
    expect(read).toHaveLength(AT_ONCE)
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
