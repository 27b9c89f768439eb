import { describe, expect, test } from 'vitest'
import { linesOf } from '../../src/domain/lines.ts'

async function* inPieces(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function linesIn(text: string, size: number, longest = 100): Promise<string[]> {
  const lines: string[] = []
  for await (const line of linesOf(inPieces(text, size), { longest, tooLong: () => new Error('too long') })) {
    lines.push(line)
  }
  return lines
}

describe('lines of a text in pieces', () => {
  test.each([1, 2, 3, 7, 1000])('are the same in pieces of %i bytes', async size => {
    expect(await linesIn('one\n\n zwei äöü \r\n{"a":"🙂"}\nlast', size)).toEqual([
      'one',
      'zwei äöü',
      '{"a":"🙂"}',
      'last',
    ])
    expect(await linesIn('', size)).toEqual([])
    expect(await linesIn('\n\n', size)).toEqual([])
  })

  test.each([1, 5, 1000])('one beyond the limit fails before its end, in pieces of %i', async size => {
    expect(await linesIn(`${'x'.repeat(10)}\n${'y'.repeat(10)}`, size, 10)).toHaveLength(2)
    await expect(linesIn(`short\n${'x'.repeat(11)}`, size, 10)).rejects.toThrow('too long')
  })
})
