import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { splitEntryPath } from '../../../src/content/unixfs/entry-path.ts'
import { isHoldfastError } from '../../../src/domain/errors.ts'

function outcome(path: string): string[] | string {
  try {
    return splitEntryPath(path)
  } catch (error) {
    if (isHoldfastError(error, 'INVALID_PATH')) return error.message
    throw error
  }
}

const name = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
  .filter(text => !/[\\/\0\r\n]/.test(text) && text !== '.' && text !== '..' && Buffer.byteLength(text) <= 255)
  .filter(text => !/^[A-Za-z]:$/.test(text))

describe('entry paths', () => {
  test('names survive any slashes between them', () => {
    const separator = fc.constantFrom('/', '//', '/./', '\\', '\\/', '/.//')
    fc.assert(
      fc.property(fc.array(fc.tuple(name, separator), { minLength: 1, maxLength: 6 }), segments => {
        const path = segments.map(([text, slash]) => text + slash).join('')
        expect(splitEntryPath(path)).toEqual(segments.map(([text]) => text))
        expect(splitEntryPath(`./${path}`)).toEqual(segments.map(([text]) => text))
      }),
    )
  })

  test('any text is refused or gives clean names', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', '.', '..', '/', '\\', '\0', '\n', 'C:', 'é', ' '),
      maxLength: 12,
    })
    fc.assert(
      fc.property(text, path => {
        const names = outcome(path)
        if (typeof names === 'string') return
        expect(names.length).toBeGreaterThan(0)
        for (const name of names) expect(name).not.toMatch(/^\.{0,2}$|[\\/\0\r\n]/)
        expect(outcome(names.join('/'))).toEqual(names)
      }),
      { numRuns: 500 },
    )
  })

  test.each([
    ['', 'is empty'],
    ['.', 'is empty'],
    ['./.', 'is empty'],
    ['/etc/passwd', 'is absolute'],
    ['\\server', 'is absolute'],
    ['C:\\x', 'is absolute'],
    ['./C:/x', 'is absolute'],
    ['..', 'leaves'],
    ['a/../b', 'leaves'],
    ['a\\..\\..\\b', 'leaves'],
    ['a/b\0c', 'NUL'],
    ['a\nb', 'NUL, CR or LF'],
    ['a\rb', 'NUL, CR or LF'],
    [`a/${'x'.repeat(256)}`, 'over 255 bytes'],
    [`a/${'é'.repeat(128)}`, 'over 255 bytes'],
    ['a/'.repeat(257), 'over 256 names'],
  ])('%j is refused', (path, reason) => {
    expect(outcome(path)).toContain(reason)
  })

  test('a name may have 255 bytes, and is not normalised', () => {
    expect(splitEntryPath('x'.repeat(255))).toEqual(['x'.repeat(255)])
    expect(splitEntryPath('e\u0301/\u00e9')).toEqual(['e\u0301', '\u00e9'])
    expect(splitEntryPath('...')).toEqual(['...'])
    expect(splitEntryPath(' ')).toEqual([' '])
  })

  test('a message is short and has no control characters', () => {
    const message = outcome(`${'a'.repeat(5_000)}\n`)
    expect(message).toEqual(expect.any(String))
    expect(String(message).length).toBeLessThan(250)
    expect(String(message)).not.toContain('\n')
  })
})
