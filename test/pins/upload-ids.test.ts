import { expect, test } from 'vitest'
import { newUploadId } from '../../src/pins/present-record.ts'

test('upload ids sort by creation, and their random ends differ', () => {
  const ids = Array.from({ length: 2_000 }, (_, i) => newUploadId(1_800_000_000_000 + Math.floor(i / 1_000)))
  expect(ids.toSorted()).toEqual(ids)
  expect(ids.filter(id => !/^[0-9a-z]{12}[\w-]{9}$/.test(id))).toEqual([])
  expect(new Set(ids.map(id => id.slice(12))).size).toBe(ids.length)
})
