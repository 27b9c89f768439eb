import { expect, test } from 'vitest'
import { wordsOf } from '../../src/domain/search-words.ts'

test('no two lists share a word of the index', () => {
  const multihash = new Uint8Array([0x12, 0x20])
  const records = [
    { name: 'a name', type: 'file', status: 'pinned', multihash, expires: true, meta: { of: 'one' } },
    { name: '1l 12tfile', type: 'file', status: 'pinned', multihash, expires: true, meta: { of: 'one' } },
    { name: null, type: 'pin', status: 'queued', multihash: new Uint8Array(), expires: false, meta: {} },
  ]
  const lists = [1, 2, 11, 12, 112]
  const known = new Map<string, number>()
  for (const list of lists) {
    for (const word of records.flatMap(record => wordsOf(list, record))) {
      expect([word, known.get(word) ?? list]).toEqual([word, list])
      known.set(word, list)
    }
  }
  expect(known.size).toBeGreaterThan(100)
})
