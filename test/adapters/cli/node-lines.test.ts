import { expect, test } from 'vitest'
import { nodeTable } from '../../../adapters/cli/node-lines.ts'

test('the list of nodes ends with what each node waits for', () => {
  const node = {
    id: 'a',
    number: 1,
    membership: 'retiring',
    state: 'up',
    isLocked: true,
    seenAt: null,
    records: 2,
    bytes: 9,
  }
  const waits = ['2 records wait until b has the content', '1 record waits until c has the content']
  const lines = nodeTable([
    { ...node, total: 5, waits },
    { ...node, id: 'b', total: null, waits: [] },
  ]).split('\n')
  expect(lines.slice(-2)).toEqual(waits.map(wait => `a: ${wait}`))
  expect(lines).toHaveLength(5)
})
