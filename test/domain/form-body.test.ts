import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formBody, type NewPart } from '../../src/domain/form-body.ts'
import { readForm } from '../../src/http/multipart.ts'
import { collect } from '../support/bytes.ts'

const AWKWARD = ['%22', '%', '"', '\\', '\\"', '\r\n', '\0', ';', "'", ' ', 'ü', '😀', '.*=']

const part: fc.Arbitrary<NewPart> = fc.oneof(
  fc.record({ name: fc.constantFrom('cl', 'meta'), text: fc.string({ unit: 'grapheme' }) }),
  fc.record({
    name: fc.constantFrom('file', 'files'),
    filename: fc.option(fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: fc.constantFrom(...AWKWARD) })), {
      nil: undefined,
    }),
    content: fc.array(fc.uint8Array()),
  }),
)

test('a form reads back as it was made, with any file names', () =>
  fc.assert(
    fc.asyncProperty(fc.array(part, { maxLength: 5 }), async parts => {
      const { type, body } = formBody(parts)
      const read: unknown[] = []
      for await (const { name, filename, isFile, content } of readForm({ header: () => type, body })) {
        read.push({ name, filename, isFile, bytes: (await collect(content)).toString('latin1') })
      }
      const expected = parts.map(one => {
        const isFile = 'content' in one
        const bytes = isFile ? Buffer.concat([...(one.content as Uint8Array[])]) : Buffer.from(one.text)
        return { name: one.name, filename: isFile ? one.filename : undefined, isFile, bytes: bytes.toString('latin1') }
      })
      expect(read).toEqual(expected)
    }),
    { numRuns: 300 },
  ))
