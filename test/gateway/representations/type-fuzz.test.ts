import { expect, test } from 'vitest'
import { nextTurn, turnSpent } from '../../../src/concurrency/turns.ts'
import { isActive } from '../../../src/gateway/representations/active-type.ts'
import { contentTypeOf } from '../../../src/gateway/representations/told-by-bytes.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { Draws } from '../../support/draws.ts'
import { KINDS, NAMED_KINDS } from './kinds.ts'

/** Set `ROUNDS=1000000 TEST_SEED=1` for a longer run. */
const ROUNDS = Number(process.env.ROUNDS ?? 20_000)
const SEED = Number(process.env.TEST_SEED ?? 42)
const LOOKED_AT = 4096

const SAMPLES: readonly Uint8Array[] = [
  ...KINDS.map(({ start }) => Buffer.from(start, 'base64')),
  ...NAMED_KINDS.map(({ start }) => start),
  ...[
    '<!DOCTYPE html>',
    '<?xml version="1.0"?><svg>',
    '<!--',
    '<svg',
    '<html',
    '%PDF-',
    '#EXTM3U',
    '{"a":',
    '\x1b$B',
  ].map(text => Buffer.from(text)),
]
const NAMES = [null, 'text/html', 'text/plain', 'text/css', 'text/xml'] as const

/** Draws bytes: random ones, the start of a kind, a mutation of one, or one in another. */
function drawBytes(draws: Draws, round: number): Uint8Array {
  const sample = SAMPLES[draws.below(SAMPLES.length)] ?? Buffer.alloc(0)
  const noise = pseudoRandom(draws.below(LOOKED_AT + 1), `${SEED} ${round}`)
  switch (draws.below(5)) {
    case 0:
      return noise
    case 1:
      return sample.subarray(0, draws.below(sample.length + 1))
    case 2: {
      const mutated = Uint8Array.from(sample)
      for (let count = 1 + draws.below(8); count > 0; count--) mutated[draws.below(mutated.length)] = draws.below(256)
      return mutated
    }
    case 3:
      return Buffer.concat([sample, noise]).subarray(0, LOOKED_AT)
    default:
      return Buffer.concat(Array.from({ length: 1 + draws.below(300) }, () => sample)).subarray(0, LOOKED_AT)
  }
}

test('any bytes have a type, and only markup has an active one', async () => {
  const draws = new Draws(SEED)
  for (let round = 0; round < ROUNDS; round++) {
    if (turnSpent()) await nextTurn()
    const bytes = drawBytes(draws, round)
    const known = NAMES[draws.below(NAMES.length)] ?? null
    const shown = `seed ${SEED}, round ${round}: ${Buffer.from(bytes.subarray(0, 80)).toString('hex')}`
    const type = await contentTypeOf(known, bytes, draws.below(2) === 0)
    expect(type, shown).toMatch(/^[a-z]+\/[\w.+-]+(; ?[a-z]+=[\w-]+)?$/)
    if (known !== null) expect(type, shown).toMatch(known)
    else if (isActive(type)) expect(beginsAsMarkup(bytes), shown).toBe(true)
    if (/javascript|ecmascript|css/.test(type)) expect(known, shown).not.toBe(null)
  }
}, 300_000)

/** Checks that the first character after a byte-order mark and white space is the begin of a tag. */
function beginsAsMarkup(bytes: Uint8Array): boolean {
  const [first = 0, second = 0] = bytes
  const encoding =
    first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : null
  const text = encoding === null ? Buffer.from(bytes).toString() : new TextDecoder(encoding).decode(bytes)
  return /^\s*<[?!a-z]/i.test(text)
}
