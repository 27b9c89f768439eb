import { describe, expect, test } from 'vitest'
import type { HoldfastError } from '../../src/domain/errors.ts'
import type { ApiRequest } from '../../src/http/api-messages.ts'
import { parseJson, readJsonBody } from '../../src/http/json-body.ts'

const parse = (text: string): unknown => parseJson(Buffer.from(text), 'the body')

function refusal(text: string): Pick<HoldfastError, 'code' | 'message'> | null {
  try {
    parse(text)
    return null
  } catch (error) {
    const { code, message } = error as HoldfastError
    return { code, message }
  }
}

const keys = (count: number): string => `{${Array.from({ length: count }, (_, i) => `"${i}":1`).join()}}`
const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`

describe('a JSON body', () => {
  test('may have 1,000 keys in an object, 32 levels and 10,000 values', () => {
    expect(Object.keys(parse(keys(1_000)) as object)).toHaveLength(1_000)
    expect(parse(nested(32))).toEqual(JSON.parse(nested(32)))
    expect(parse(`[${'1,'.repeat(9_998)}1]`)).toHaveLength(9_999)
    expect(parse(`[${keys(1_000)},${keys(1_000)}]`)).toHaveLength(2)
  })

  test.each([
    ['keys', keys(1_001), 'the body'],
    ['keys of meta', `{"a":1,"meta":${keys(1_001)}}`, 'field "meta"'],
    ['levels', nested(33), 'the body'],
    ['levels of objects', `${'{"a":'.repeat(33)}1${'}'.repeat(33)}`, 'field "a"'],
    ['values', `{"origins" : [${'1,'.repeat(10_000)}1]}`, 'field "origins"'],
    ['empty arrays', `{"x":[${'[],'.repeat(10_000)}[]]}`, 'field "x"'],
    ['objects of one key', `[${Array.from({ length: 10_000 }, (_, i) => `{"${i}":1}`).join()}]`, ''],
  ])("with more %s is refused with the field's name", (_, text, field) => {
    expect(refusal(text)?.code).toBe('VALIDATION')
    expect(refusal(text)?.message).toMatch(new RegExp(`^${field}.* must not have more than`))
  })

  test('ignores punctuation in strings', () => {
    const text = JSON.stringify({ a: `\\"${'{[:,'.repeat(20_000)}`, b: '\\' })
    expect(parse(text)).toEqual(JSON.parse(text))
  })

  test('is refused if malformed', () => {
    for (const text of ['{', '}', ']]]]', '{"a":', '"', '\\', ':', '{"a":1,}', 'nul', '[1 2]', '"\ud800'.slice(0, 1)]) {
      expect(refusal(text)?.code, text).toBe('VALIDATION')
    }
    expect(() => parseJson(Buffer.from([0x22, 0xff, 0x22]), 'the body')).toThrow('not valid JSON')
  })

  test('is read only up to its limit', async () => {
    let given = 0
    async function* body(): AsyncGenerator<Uint8Array> {
      for (; given < 100; given++) yield Buffer.alloc(1_000, ' ')
    }
    const request = { header: () => undefined, body: body() } as unknown as ApiRequest
    await expect(readJsonBody(request, 16_384)).rejects.toMatchObject({ code: 'REQUEST_TOO_LARGE' })
    expect(given).toBeLessThanOrEqual(17)
  })
})
