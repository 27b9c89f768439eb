import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bytesOfText, textOfBytes, textOfUri } from '../../../src/domain/byte-text.ts'
import { escapeHtml, hrefOf } from '../../../src/gateway/pages/html.ts'

const anything = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc
    .array(fc.constantFrom('<', '>', '"', "'", '&', '/', '\\', '%', '#', '?', ':', '.', ' ', '😀', '\ud800', 'a'))
    .map(parts => parts.join('')),
)

test('escaped text ends no tag or attribute and displays as entered', () => {
  fc.assert(
    fc.property(anything, text => {
      const escaped = escapeHtml(text)
      expect(escaped).not.toMatch(/[<>"']/)
      expect(escaped).not.toMatch(/&(?!amp;|lt;|gt;|quot;|#39;)/)
      const back = escaped
        .replaceAll('&lt;', '<')
        .replaceAll('&gt;', '>')
        .replaceAll('&quot;', '"')
        .replaceAll('&#39;', "'")
        .replaceAll('&amp;', '&')
      expect(back).toBe(text)
    }),
  )
})

test('a link leads to the name below the page', () => {
  fc.assert(
    fc.property(
      anything.filter(name => !['', '.', '..'].includes(name)),
      name => {
        const page = new URL('http://gateway.test/ipfs/bafy/folder/')
        const url = new URL(hrefOf(name), page)
        expect(url.origin).toBe(page.origin)
        expect(url.search + url.hash).toBe('')
        expect(url.pathname.startsWith(page.pathname)).toBe(true)
        expect(textOfUri(url.pathname.slice(page.pathname.length))).toBe(textOfBytes(bytesOfText(name.toWellFormed())))
        expect(hrefOf(name)).not.toMatch(/[<>"\s]/)
      },
    ),
  )
})
