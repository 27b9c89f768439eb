import { describe, expect, test } from 'vitest'
import { cidIn } from '../../../../adapters/console/page/content/pin-dialog.ts'
import { parseRoute, routeTo } from '../../../../adapters/console/page/page-route.ts'
import {
  formatAge,
  formatDuration,
  instantIn,
  localInput,
  plural,
  shortCid,
  shownBytes,
} from '../../../../adapters/console/page/widgets/shown-values.ts'
import { wordsFor } from '../../../../adapters/console/page/words.ts'

describe('the console’s words', () => {
  test.each([
    [0, '0 B'],
    [999, '999 B'],
    [1_000, '1.0 KB'],
    [9_949_999, '9.9 MB'],
    [12_345_678_901, '12 GB'],
    [5e18, '5000 PB'],
  ])('%d bytes are %s', (bytes, words) => expect(shownBytes(bytes)).toBe(words))

  test.each([
    'no answer from http://127.0.0.1:4100/api/v3/users/me: Failed to fetch',
    'no answer from http://127.0.0.1:4100/api/v3/users/me: NetworkError when attempting to fetch resource.',
    'no answer from http://127.0.0.1:4100/api/v3/users/me: Load failed',
  ])('%s becomes a sentence', text => {
    expect(wordsFor(new Error(text))).toMatch(/^The server does not answer\. Check/)
  })

  test.each([
    ['url must not lead to a private address', 'URL must not lead to a private address'],
    ['ipAllowlist: "nonsense" is no network', '"nonsense" is no network'],
    ['email: taken', 'Email: taken'],
  ])('%s names no field of the API', (text, words) => expect(wordsFor(new Error(text))).toBe(words))

  test('ages and durations', () => {
    const now = Date.parse('2030-01-01T00:00:00Z')
    expect(formatAge('2030-01-01T00:00:00.500Z', now)).toBe('just now')
    expect(formatAge('2030-01-01T00:00:20Z', now)).toBe('in a moment')
    expect(formatAge('2029-12-31T22:00:00Z', now)).toBe('2 hours ago')
    expect(formatAge('2030-02-15T00:00:00Z', now)).toBe('next month')
    expect([0.2, 89, 120, 7_200].map(formatDuration)).toEqual(['1 s', '89 s', '2 min', '2 h'])
    expect([plural(1, 'file'), plural(2_000, 'entry', 'entries')]).toEqual(['1 file', '2,000 entries'])
  })

  test('instants survive a field, to the minute', () => {
    const instant = new Date('2030-05-01T12:34:00Z')
    expect(instantIn(localInput(instant))).toEqual(instant)
    expect(instantIn('')).toBeUndefined()
  })

  test('CIDs as users paste them', () => {
    for (const text of [' bafyX ', 'ipfs://bafyX/a', 'https://gateway.example/ipfs/bafyX/?a#b', '/ipfs/bafyX']) {
      expect(cidIn(text)).toBe('bafyX')
    }
    expect(shortCid('bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi')).toBe('bafybeigdy…5fbzdi')
  })

  test('routes have addresses, and addresses lead to their routes', () => {
    const place = routeTo(['pin', 'a/b ü'], { cluster: 'cl&1', none: undefined, empty: '' })
    expect(place).toBe('#/pin/a%2Fb%20%C3%BC?cluster=cl%261')
    const { path, query } = parseRoute(place)
    expect([path, query.get('cluster')]).toEqual([['pin', 'a/b ü'], 'cl&1'])
    expect(parseRoute('').path).toEqual([])
    expect(parseRoute('#/%E0%A4%A').path).toEqual([''])
  })

  test('errors are sentences', () => {
    expect(wordsFor(new Error('cid is not a CID'))).toBe('CID is not a CID')
    expect(wordsFor(new Error('the disk is full'))).toBe('The disk is full')
    expect(wordsFor('Ünknown')).toBe('Ünknown')
  })
})
