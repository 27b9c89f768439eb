import { expect, test } from 'vitest'
import type { LostContent } from '../../src/catalogue/lost-content.ts'
import { silentLogger } from '../../src/domain/logger.ts'
import { LostNodes } from '../../src/upkeep/lost-nodes.ts'
import { ManualClock } from '../support/manual-clock.ts'

test('a node whose records came back is forgotten after another pass', async () => {
  const log: string[] = []
  const lost: LostContent = {
    nodes: async () => [{ name: 'lost', id: 'lost', number: 1 }],
    keptClusters: async () => new Set(),
    fence: async () => true,
    takeOver: async () => {
      log.push('pass')
      return { changes: [], taken: 0, left: 0, last: null }
    },
    finish: async () => log.filter(one => one === 'pass').length === 2,
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
  await nodes.run(new AbortController().signal)
  expect(log).toEqual(['pass', 'pass', 'the lost node is forgotten'])
})
