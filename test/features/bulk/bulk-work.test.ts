import { expect, test } from 'vitest'
import type { BulkChange } from '../../../src/catalogue/bulk-changes.ts'
import { storedSelection } from '../../../src/features/bulk/bulk-selection.ts'
import { BulkWork, type BulkWorkParts } from '../../../src/features/bulk/bulk-work.ts'
import { ManualClock } from '../../support/manual-clock.ts'

test('a job that hides records is done once all nodes follow', async () => {
  const calls: string[] = []
  const called = (name: string) => async () => void calls.push(name)
  const followed = async () => {
    await new Promise(resolve => setImmediate(resolve))
    calls.push('followed')
  }
  const parts = {
    bulk: { edit: called('done') },
    records: { get: async () => ({ clusterId: 'near' }) },
    visibility: { change: called('hidden'), followed },
    clock: new ManualClock(),
    stepped: () => undefined,
  } as unknown as BulkWorkParts
  const selection = storedSelection({ of: ['one', 'two'], edit: { visibility: 'private' } })
  const change = { id: 1, phase: 'running', action: 'visibility', accountId: 'a', place: '', selection } as BulkChange
  await new BulkWork(parts).step(change, new AbortController().signal)
  expect(calls).toEqual(['hidden', 'hidden', 'followed', 'done'])
})
