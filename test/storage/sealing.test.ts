import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { SEALING_KEY_BYTES, sealingKeyId, sealingWith } from '../../src/domain/sealing.ts'

const KEY = randomBytes(SEALING_KEY_BYTES)
const SECRET = Buffer.from('a secret of some length')

describe('sealing', () => {
  const sealing = sealingWith(KEY)

  test.each([[0], [1], [20], [10_000]])('opens what it sealed, of %i bytes', length => {
    const bytes = randomBytes(length)
    expect(Buffer.from(sealingWith(KEY).open(sealing.seal(bytes, 'a'), 'a')).equals(bytes)).toBe(true)
  })

  test('hides the bytes, and gives another result each time', () => {
    const [one, two] = [sealing.seal(SECRET, 'a'), sealing.seal(SECRET, 'a')]
    expect(Buffer.from(one).includes(SECRET)).toBe(false)
    expect(Buffer.from(one).equals(two)).toBe(false)
  })

  test('names the fault of changed bytes, cuts, other contexts and other keys', () => {
    const sealed = sealing.seal(SECRET, 'a')
    const changed = [...sealed.keys()].map(at => Uint8Array.from(sealed, (byte, i) => (i === at ? byte ^ 1 : byte)))
    const cut = [...sealed.keys()].map(length => sealed.subarray(0, length))
    for (const wrong of [...changed, ...cut]) expect(refusalOf(() => sealing.open(wrong, 'a'))).toMatch(/\(a\) cannot/)
    expect(refusalOf(() => sealing.open(sealed, 'b'))).toMatch(/\(b\) cannot/)
    expect(refusalOf(() => sealingWith(randomBytes(SEALING_KEY_BYTES)).open(sealed, 'a'))).toMatch(/another key/)
  })

  test('gives different keys different ids', () => {
    expect(sealingKeyId(KEY)).toBe(sealingKeyId(Uint8Array.from(KEY)))
    expect(sealingKeyId(KEY)).not.toBe(sealingKeyId(randomBytes(SEALING_KEY_BYTES)))
    expect(KEY.toString('hex')).not.toContain(sealingKeyId(KEY))
  })
})

function refusalOf(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    expect(error).toMatchObject({ code: 'DATA_DIR_UNUSABLE' })
    return String(error)
  }
  throw new Error('was not refused')
}
