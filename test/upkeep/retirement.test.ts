import type { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import type { RetiringRoot } from '../../src/catalogue/retirements.ts'
import { HoldfastError } from '../../src/domain/errors.ts'
import { silentLogger } from '../../src/domain/logger.ts'
import { cidOf } from '../../src/ipld/cid.ts'
import { Retirement } from '../../src/upkeep/retirement.ts'
import { dagOf, SIZES } from '../catalogue/content-support.ts'
import { ManualClock } from '../support/manual-clock.ts'

const STAGED = {
  ...{ rootId: 1, blockCount: 1, get: async () => new Uint8Array(9), store: { sizeOf: () => 9 } },
  ...{ settle: async () => undefined, abandon: async () => undefined, sizes: () => SIZES },
}

/** Content of a retiring node. The node does not answer for its first roots. */
function retirement({ roots, unanswered }: { roots: number; unanswered: number }) {
  let left = Array.from({ length: roots }, (_, i): RetiringRoot => {
    return { id: i + 1, clusterId: null, owner: 0, ...dagOf(`${i}`.padStart(4, '0')) }
  })
  const silent = new Set(left.slice(0, unanswered).map(root => `${cidOf(root)}`))
  const seen = { reads: 0, waiting: 0, lines: [] as string[], left: () => left.length }
  const take = async (cid: CID) => {
    seen.reads++
    if (silent.has(`${cid}`)) throw new HoldfastError('UNAVAILABLE', 'the node answered 503')
    return STAGED
  }
  const work = new Retirement({
    retirements: {
      nodes: async () => [{ name: 'old', id: 'old', number: 0 }],
      roots: async (_, after) => ({ roots: left.filter(({ id }) => id > after), last: null }),
      move: async moved => {
        const gone = new Set(moved.map(({ from }) => from))
        left = left.filter(({ id }) => !gone.has(id))
        return gone.size
      },
      moveWaiting: async () => {
        seen.waiting++
        return { changes: [], count: 0 }
      },
      finish: async () => left.length === 0,
    },
    homeOf: () => 0,
    hasCluster: () => true,
    backendOf: () => ({ staging: { take } }) as never,
    readerOf: () => ({ read: () => Promise.reject(new Error('nobody reads')) }),
    onChanges: async () => undefined,
    clock: new ManualClock(),
    logger: { ...silentLogger, error: (_: object, line: string) => void seen.lines.push(line) },
  })
  return { seen, run: () => work.run(new AbortController().signal) }
}

describe('the content of a retiring node', () => {
  test('unanswered content delays no other content and no waiting pins', async () => {
    const { seen, run } = retirement({ roots: 120, unanswered: 60 })
    await run()
    expect(seen.waiting).toBe(1)
    for (let i = 0; i < 2; i++) await run()
    expect(seen.left()).toBe(60)
  })

  test('asks a node that is away for one step of content', async () => {
    const { seen, run } = retirement({ roots: 120, unanswered: 120 })
    await run()
    expect(seen.reads).toBe(50)
  })

  test('logs one line for a node that does not answer', async () => {
    const { seen, run } = retirement({ roots: 3, unanswered: 2 })
    await run()
    expect([seen.left(), seen.lines]).toEqual([2, ['content of a retiring node could not be copied']])
  })
})
