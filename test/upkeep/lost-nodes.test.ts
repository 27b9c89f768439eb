import { expect, test } from 'vitest'
import type { LostContent } from '../../src/catalogue/lost-content.ts'
import { silentLogger } from '../../src/domain/logger.ts'
import { LostNodes } from '../../src/upkeep/lost-nodes.ts'
import { ManualClock } from '../support/manual-clock.ts'

function nodesWith(more: Partial<LostContent>) {
  const log: string[] = []
  const lost: LostContent = {
    nodes: async () => [{ name: 'lost', id: 'lost', number: 1, isRetiring: false }],
    keptClusters: async () => new Set(),
    fence: async () => true,
    takeOver: async () => {
      log.push('pass')
      return { changes: [], taken: 0, left: 0, last: null }
    },
    moveWaiting: async () => {
      log.push('waiting')
      return { changes: [], isMore: log.length < 2 }
    },
    finishRetirement: async () => true,
    finish: async () => log.filter(one => one === 'pass').length === 2,
    ...more,
  }
  const nodes = new LostNodes({
    lost,
    homeOf: () => 0,
    hasCluster: () => true,
    canFetch: async () => false,
    onChanges: async () => undefined,
    clock: new ManualClock(),
    logger: { ...silentLogger, info: (_, message) => log.push(String(message)) },
  })
  return { log, run: () => nodes.run(new AbortController().signal) }
}

test('a node whose records came back is forgotten after another pass', async () => {
  const { log, run } = nodesWith({})
  await run()
  expect(log).toEqual(['pass', 'pass', 'the lost node is forgotten'])
})

test('waiting pins of a node that retires move at once', async () => {
  const { log, run } = nodesWith({ nodes: async () => [{ name: 'old', id: 'old', number: 0, isRetiring: true }] })
  await run()
  expect(log).toEqual(['waiting', 'waiting', 'the node has retired: it has no content'])
})
