import { readFileSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { describe, expect, test } from 'vitest'
import { promises } from './promises.ts'

const ROOT = join(import.meta.dirname, '..')
/** Pieces of a title that may stand apart in the code: a title may have a value or two of a table in it. */
const MOST_PIECES = 3

/** Texts of test files with what they import, because hundreds of promises name the same files. */
const texts = new Map<string, string>()

function textOf(file: string): string {
  const text = texts.get(file) ?? wholeText(file)
  texts.set(file, text)
  return text
}

/** Returns the text of a test file and of every file under `test/` that it imports, directly or not. */
function wholeText(file: string, seen = new Map<string, string>()): string {
  const text = readFileSync(file, 'utf8')
  seen.set(file, text)
  for (const [, path = ''] of text.matchAll(/from '(\.[^']+)'/g)) {
    const imported = join(dirname(file), path)
    if (imported.startsWith(import.meta.dirname + sep) && !seen.has(imported)) wholeText(imported, seen)
  }
  return [...seen.values()].join('\n')
}

/** Returns the least number of pieces of a title, cut between words, that all occur in the text. */
function piecesIn(text: string, title: string): number {
  const words = title.split(' ')
  let pieces = 0
  for (let from = 0, to = 0; from < words.length; from = to, pieces++) {
    for (to = words.length; !text.includes(words.slice(from, to).join(' ')); ) if (--to === from) return Infinity
  }
  return pieces
}

/** `npm run mutations` breaks each promise and runs its test. This test only checks that it still can. */
describe('the list of promises', () => {
  test.each(promises)('$promise: its code occurs exactly once', kept => {
    const text = readFileSync(join(ROOT, kept.file), 'utf8')
    expect(text.split(kept.find).length - 1, `${kept.file}: ${kept.find}`).toBe(1)
  })

  test.each(promises)('$promise: its test exists', ({ test: { file, name } }) => {
    expect(piecesIn(textOf(join(ROOT, file)), name), `${file}: ${name}`).toBeLessThanOrEqual(MOST_PIECES)
  })
})
