import { expect, test } from 'vitest'
import type { ListedRecord, RecordFilter, Records } from '../../src/catalogue/records.ts'
import { SortedLists } from '../../src/pins/lists/sorted-list.ts'

test('accounts take turns to sort their lists', async () => {
  const walked: string[] = []
  const first = Promise.withResolvers<void>()
  const records: Pick<Records, 'page' | 'walk' | 'get'> = {
    get: async () => undefined,
    page: async () => ({ rows: [], total: 0 }),
    walk: async ({ accountId }) => {
      walked.push(accountId)
      await first.promise
      return { rows: [] as ListedRecord[], next: null }
    },
  }
  const lists = new SortedLists(records)
  const read = (accountId: string) => lists.read({ accountId } as RecordFilter, 'name')
  const all = [...Array.from({ length: 4 }, () => read('crowd')), read('other')]
  await expect.poll(() => walked.length).toBe(1)
  first.resolve()
  await Promise.all(all)
  expect(walked).toHaveLength(5)
  expect(walked.indexOf('other')).toBeLessThan(3)
})
