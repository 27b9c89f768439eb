import fc from 'fast-check'
import { expect, test } from 'vitest'
import { generateRecoveryCodes, hashRecoveryCode } from '../../../src/access/sign-in/recovery-code.ts'
import { matchTotp, otpauthUrl, totpCode, totpSecretText, totpStep } from '../../../src/access/sign-in/totp.ts'

const SECRET = Buffer.from('12345678901234567890')

test.each([
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
])('at second %i the code is that of RFC 6238', (seconds, code) => {
  expect(totpCode(SECRET, totpStep(seconds * 1_000))).toBe(code)
  expect(matchTotp(SECRET, code, seconds * 1_000, -1)).toBe(Math.floor(seconds / 30))
})

test('the secret is shown in base 32 without padding', () => {
  expect(totpSecretText(Buffer.from('foobar'))).toBe('MZXW6YTBOI')
  const url = new URL(otpauthUrl(SECRET, 'a b+c@example.org'))
  expect(url.href).toMatch(/^otpauth:\/\/totp\/Holdfast%3Aa%20b%2Bc%40example\.org\?/)
  expect(Object.fromEntries(url.searchParams)).toEqual({
    secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ',
    issuer: 'Holdfast',
    algorithm: 'SHA1',
    digits: '6',
    period: '30',
  })
})

test('a code is valid one step around its own, and once', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 20, maxLength: 20 }),
      fc.integer({ min: 4, max: 2 ** 31 }),
      fc.integer({ min: -4, max: 4 }),
      fc.integer({ min: -3, max: 3 }),
      (secret, step, drift, used) => {
        const now = step * 30_000 + 12_345
        const matched = matchTotp(secret, totpCode(secret, step + drift), now, step + used)
        // Two steps may have the same code by chance. Then the other one may match.
        if (matched !== null) {
          expect(Math.abs(matched - step)).toBeLessThanOrEqual(1)
          expect(matched).toBeGreaterThan(step + used)
          expect(totpCode(secret, matched)).toBe(totpCode(secret, step + drift))
        } else {
          expect(Math.abs(drift) > 1 || drift <= used).toBe(true)
        }
      },
    ),
  )
})

test.each(['', '12345', '1234567', '12345a', '１２３４５６', ' 287082'])('%j is not a code', code => {
  expect(matchTotp(SECRET, code, 59_000, -1)).toBeNull()
})

test('ten recovery codes differ, and match in every spelling', () => {
  let next = 0
  const codes = generateRecoveryCodes(size => Buffer.alloc(size, next++))
  expect(new Set(codes).size).toBe(10)
  for (const code of codes) {
    expect(code).toMatch(/^[a-z2-7]{4}(-[a-z2-7]{4}){3}$/)
    const sloppy = ` ${code.toUpperCase().replaceAll('-', ' ')}`
    expect(hashRecoveryCode(sloppy)).toEqual(hashRecoveryCode(code))
  }
})
