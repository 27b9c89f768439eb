import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bytesOfText, textOfUnicode } from '../../src/domain/byte-text.ts'
import { isHoldfastError } from '../../src/domain/errors.ts'
import { defaultFormLimits, type FormLimits } from '../../src/http/form-headers.ts'
import { type FormRequest, readForm, readPartText, wholeForm } from '../../src/http/multipart.ts'
import { turnsDuring } from '../support/turns-during.ts'

interface ReadPart {
  name: string
  filename: string | undefined
  isFile: boolean
  content: Buffer
}

/** Each chunk is valid until the next is requested. */
async function* chunksOf(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) {
    const chunk = Uint8Array.prototype.slice.call(bytes, at, at + size)
    yield chunk
    chunk.fill(0)
  }
}

function form(bytes: Uint8Array | string, contentType: string, chunkSize = 64 * 1024) {
  const whole = typeof bytes === 'string' ? Buffer.from(bytes) : bytes
  return {
    whole,
    body: chunksOf(whole, chunkSize),
    header: (name: string) => (name === 'content-type' ? contentType : undefined),
  }
}

/** Reads a form both streamed and buffered, and checks that the results are equal. */
async function readAll(request: ReturnType<typeof form>, limits: FormLimits = defaultFormLimits): Promise<ReadPart[]> {
  const streamed = await readStreamed(request, limits).catch((error: unknown) => ({ error }))
  expect(readWhole(request, limits)).toEqual(streamed)
  if ('error' in streamed) throw streamed.error
  return streamed
}

function readWhole({ whole, header }: ReturnType<typeof form>, limits: FormLimits): ReadPart[] | { error: unknown } {
  try {
    const parts = [...wholeForm(whole, header('content-type'), limits)]
    return parts.map(({ name, filename, isFile, bytes }) => ({ name, filename, isFile, content: Buffer.from(bytes) }))
  } catch (error) {
    return { error }
  }
}

async function readStreamed(request: FormRequest, limits?: FormLimits): Promise<ReadPart[]> {
  const parts: ReadPart[] = []
  for await (const { name, filename, isFile, content } of readForm(request, limits)) {
    const chunks: Uint8Array[] = []
    for await (const chunk of content) chunks.push(Buffer.from(chunk))
    parts.push({ name, filename, isFile, content: Buffer.concat(chunks) })
  }
  return parts
}

const TYPE = 'multipart/form-data; boundary=b'

function part(disposition: string, content: string, more = ''): string {
  return `--b\r\nContent-Disposition: form-data; ${disposition}\r\n${more}\r\n${content}\r\n`
}

async function refusal(request: ReturnType<typeof form>, limits?: FormLimits): Promise<string> {
  try {
    await readAll(request, limits)
  } catch (error) {
    if (isHoldfastError(error)) return `${error.code}: ${error.message}`
    throw error
  }
  return 'accepted'
}

describe('forms encoded by the platform', () => {
  // The platform's FormData encodes names like a browser. It would normalise a lone CR or LF in a name.
  const name = fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }).filter(text => !/[\r\n\0]|%22/.test(text))
  const wellFormed = name.map(text => text.toWellFormed())

  test('have the same parts after parsing at every split', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ name: wellFormed, filename: wellFormed, bytes: fc.uint8Array({ maxLength: 300 }) }), {
          maxLength: 5,
        }),
        fc.integer({ min: 1, max: 100 }),
        async (files, chunkSize) => {
          const data = new FormData()
          for (const file of files) data.append(file.name, new File([Uint8Array.from(file.bytes)], file.filename))
          const sent = new Response(data)
          const bytes = new Uint8Array(await sent.arrayBuffer())
          const parts = await readAll(form(bytes, sent.headers.get('content-type') ?? '', chunkSize))
          expect(parts.map(({ name, filename, content }) => ({ name, filename, bytes: [...content] }))).toEqual(
            files.map(({ name, filename, bytes }) => ({ name, filename: textOfUnicode(filename), bytes: [...bytes] })),
          )
        },
      ),
      { numRuns: 150 },
    )
  })

  test('keep content that resembles a delimiter', async () => {
    const pieces = fc.array(fc.constantFrom('\r', '\n', '-', '\r\n', '\r\n-', '\r\n--', '\r\n--a', '--b', 'b', 'x'))
    await fc.assert(
      fc.asyncProperty(pieces, fc.integer({ min: 1, max: 20 }), async (words, chunkSize) => {
        const content = words.join('')
        fc.pre(!`${content}\r\n`.includes('\r\n--b') && !`\r\n\r\n${content}`.includes('\r\n--b'))
        const parts = await readAll(form(`${part('name="file"; filename="f"', content)}--b--\r\n`, TYPE, chunkSize))
        expect(parts.map(({ content }) => content.toString())).toEqual([content])
      }),
      { numRuns: 300 },
    )
  })
})

describe('names', () => {
  test.each([
    ['name="file"; filename="a/b/c.txt"', 'a/b/c.txt'],
    ['name="file"; filename="né %22a%22.txt"', 'né "a".txt'],
    ['name="file"; filename="a\\"b.txt"', 'a"b.txt'],
    ['name="file"; filename="a%20b%2Fc.txt"', 'a%20b%2Fc.txt'],
    ['name="file"; filename="dir\\sub\\x.txt"', 'dir\\sub\\x.txt'],
    ['name="file"; filename="dir\\"', 'dir\\'],
    ['name="file"; filename=plain.txt', 'plain.txt'],
    ['filename="first.txt"; name=file', 'first.txt'],
    ['name="file"; filename=""', ''],
    ['name="file"; filename="; name=evil"', '; name=evil'],
    ['name="file"; filename="x.txt"; filename*=UTF-8\'\'y.txt', 'y.txt'],
    ['name="file"; filename*=utf-8\'en\'%e2%82%ac%20%22rates%22.txt', '€ "rates".txt'],
    ['name="file" ; filename = "spaced.txt" ;', 'spaced.txt'],
    ['name="file"; filename="a\\\\"', 'a\\\\'],
  ])('%s', async (disposition, filename) => {
    const parts = await readAll(form(`${part(disposition, 'x')}--b--`, TYPE))
    expect(parts).toEqual([{ name: 'file', filename, isFile: true, content: Buffer.from('x') }])
  })

  test('file names are bytes', async () => {
    const names = ['caf\xe9', 'caf\xe8', '\xee\xbf\xa9', '\xc3\xa9 %22', '\x83\x5c']
    const body = names.map(name => part(`name="file"; filename="${name}"`, 'x')).join('')
    const parts = await readAll(form(Buffer.from(`${body}--b--`, 'latin1'), TYPE))
    const read = parts.map(({ filename = '' }) => filename)
    expect(read).toEqual(['caf\uefe9', 'caf\uefe8', '\uefee\uefbf\uefa9', 'é "', '\uef83\\'])
    const bytes = read.map(name => Buffer.from(bytesOfText(name)).toString('latin1'))
    expect(bytes).toEqual(names.map(name => name.replace('%22', '"')))
  })

  test.each([
    [
      'files?mode=0754&mtime=1604320500&mtime-nsecs=55555',
      { mode: 0o754, mtime: { seconds: 1_604_320_500, nanoseconds: 55_555 } },
    ],
    ['file?mtime=-2&other=1', { mtime: { seconds: -2, nanoseconds: 0 } }],
    ['files[]?mode=0', {}],
  ])('%s has attributes', async (name, attributes) => {
    for await (const found of readForm(form(`${part(`name="${name}"; filename="x"`, 'x')}--b--`, TYPE))) {
      expect(found).toMatchObject({ name: name.split('?')[0], attributes })
    }
  })

  test.each([
    'mode=9',
    'mode=649',
    'mode=-1',
    'mode=10000',
    'mode=',
    'mtime=9223372036854775808',
    'mtime=1.5',
    'mtime=',
    'mtime-nsecs=1',
    'mtime=1&mtime-nsecs=1000000000',
    'mtime=1&mtime-nsecs=-1',
    'mode=0644&mode=0600',
    'mtime=1&mtime=1',
  ])('attributes %s are refused', async query => {
    const reading = readAll(form(`${part(`name="files?${query}"; filename="x"`, 'x')}--b--`, TYPE))
    await expect(reading).rejects.toMatchObject({
      code: 'VALIDATION',
      message: expect.stringMatching(/^files: (mode|mtime)/),
    })
  })

  test('a field has no file name, and octets count as a file', async () => {
    const body = part('name="cl"', 'cl1-eu') + part('name="c"', 'x', 'Content-Type: application/octet-stream\r\n')
    const parts = await readAll(form(`${body}--b--`, TYPE))
    expect(parts.map(({ name, filename, isFile }) => ({ name, filename, isFile }))).toEqual([
      { name: 'cl', filename: undefined, isFile: false },
      { name: 'c', filename: undefined, isFile: true },
    ])
  })
})

describe('malformed forms are refused', () => {
  const whole = `${part('name="file"; filename="f"', 'content')}--b--\r\n`

  test('truncated at any byte before the closing boundary', async () => {
    const end = whole.indexOf('--b--') + '--b--'.length
    for (let length = 0; length < end; length++) {
      expect(await refusal(form(whole.slice(0, length), TYPE)), `${length} bytes`).toMatch(/^VALIDATION: /)
    }
    expect(await refusal(form(whole.slice(0, end), TYPE))).toBe('accepted')
  })

  test.each([
    ['application/json', 'UNSUPPORTED_MEDIA_TYPE'],
    ['multipart/form-data', 'VALIDATION: Content-Type has no multipart boundary'],
    ['multipart/form-data; boundary=', 'VALIDATION: Content-Type has no multipart boundary'],
    ['multipart/form-data; boundary=other', 'VALIDATION: the form ends before its closing boundary'],
    [`multipart/form-data; x=y; boundary=${'x'.repeat(201)}`, 'VALIDATION: the multipart boundary'],
  ])('Content-Type %.40s', async (contentType, expected) => {
    expect(await refusal(form(whole, contentType))).toContain(expected)
  })

  test.each([
    ['no disposition', '--b\r\nContent-Type: text/plain\r\n\r\nx\r\n--b--'],
    ['no headers', '--b\r\n\r\nx\r\n--b--'],
    ['no field name', `${part('filename="f"', 'x')}--b--`],
    ['an unclosed quote', `${part('name="file"; filename="f', 'x')}--b--`],
    [
      'backslashes without end in a quote that is not closed',
      `${part(`name="f"; filename="${'\\'.repeat(80)}`, 'x')}--b--`,
    ],
    ['a name as long as headers may be', `${part(`name="f"; filename="${'\\"'.repeat(8_000)}x; y`, 'x')}--b--`],
    ['a name in another character set', `${part("name=f; filename*=koi8-r''x", 'x')}--b--`],
    ['a name with broken escapes', `${part("name=f; filename*=utf-8''%e2%82", 'x')}--b--`],
    ['a transfer encoding', `${part('name="a"', 'eA==', 'Content-Transfer-Encoding: base64\r\n')}--b--`],
    ['a line break in a name', `${part('name="file"; filename="a\nb"', 'x')}--b--`],
    ['a header without a colon', '--b\r\nContent-Disposition\r\n\r\nx\r\n--b--'],
    ['a header twice', `${part('name="a"', 'x', 'Content-Disposition: form-data; name="b"\r\n')}--b--`],
    ['headers cut off by a delimiter', `--b\r\nContent-Disposition: form-data; name="a"\r\n${whole}`],
    ['a delimiter with a tail', '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n--bc\r\n\r\n--b--'],
  ])('%s', async (_, body) => {
    expect(await refusal(form(body, TYPE))).toMatch(/^VALIDATION: /)
  })

  test('raw quotes in a name give an error that explains escapes', async () => {
    const quoted = part('name="file"; filename="a "b" c.txt"', 'x')
    expect(await refusal(form(`${quoted}--b--`, TYPE))).toContain('write a quote in a name as %22')
    const written = part('name="file"; filename="a %22b%22 c.txt"', 'x')
    expect(await refusal(form(`${written}--b--`, TYPE))).toBe('accepted')
  })

  test('too many parts, or too long headers or padding', async () => {
    const limits = { maxParts: 2, maxHeaderBytes: 200, maxPaddingBytes: 100 }
    const field = part('name="a"', 'x')
    expect(await refusal(form(`${field.repeat(2)}--b--`, TYPE), limits)).toBe('accepted')
    expect(await refusal(form(`${field.repeat(3)}--b--`, TYPE), limits)).toContain('more than 2 parts')
    const long = part(`name="${'n'.repeat(300)}"`, 'x')
    expect(await refusal(form(`${long}--b--`, TYPE), limits)).toContain('headers of part 1')
    expect(await refusal(form(`${'p'.repeat(500)}\r\n${field}--b--`, TYPE), limits)).toContain('outside its parts')
    expect(await refusal(form(`${field}--b--\r\n${'e'.repeat(500)}`, TYPE), limits)).toContain('outside its parts')
  })
})

describe('reading one part at a time', () => {
  test('reads only the bytes that the consumer needs', async () => {
    let pulled = 0
    async function* body(): AsyncGenerator<Uint8Array> {
      for (const text of [part('name="a"; filename="a"', 'first'), part('name="b"; filename="b"', 'second'), '--b--']) {
        pulled += 1
        yield Buffer.from(text)
      }
    }
    const parts = readForm({ body: body(), header: () => TYPE })
    expect(pulled).toBe(0)
    const first = await parts.next()
    expect([first.done, pulled]).toEqual([false, 1])
    await parts.next()
    expect(pulled).toBe(2)
    await parts.return()
  })

  test('skips unread content', async () => {
    const body = `${part('name="a"; filename="a"', 'x'.repeat(1000))}${part('name="b"', 'second')}--b--`
    const seen: string[] = []
    for await (const one of readForm(form(body, TYPE, 7))) {
      if (one.name === 'a') for await (const _ of one.content) break
      else seen.push(await readPartText(one, 100))
    }
    expect(seen).toEqual(['second'])
  })

  test('releases the body if the consumer stops', async () => {
    let released = false
    async function* body(): AsyncGenerator<Uint8Array> {
      try {
        yield Buffer.from(part('name="a"; filename="a"', 'x'))
        yield Buffer.from('never reached')
      } finally {
        released = true
      }
    }
    for await (const _ of readForm({ body: body(), header: () => TYPE })) break
    expect(released).toBe(true)
  })

  test('passes errors of the body to the content', async () => {
    const gone = new Error('client gone')
    async function* body(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nsome')
      throw gone
    }
    await expect(readStreamed({ body: body(), header: () => TYPE })).rejects.toBe(gone)
  })

  test('limits text fields and requires UTF-8', async () => {
    const read = async (bytes: Buffer): Promise<string> => {
      const head = Buffer.from('--b\r\nContent-Disposition: form-data; name="cl"\r\n\r\n')
      for await (const one of readForm(form(Buffer.concat([head, bytes, Buffer.from('\r\n--b--')]), TYPE))) {
        return readPartText(one, 10)
      }
      return 'no part'
    }
    await expect(read(Buffer.from('cl1-eu'))).resolves.toBe('cl1-eu')
    await expect(read(Buffer.from('x'.repeat(11)))).rejects.toThrow('"cl" is longer than 10 bytes')
    await expect(read(Buffer.from([0xff, 0xfe]))).rejects.toThrow('"cl" is not valid UTF-8')
  })

  test('reads ten thousand files in one form', async () => {
    const body = Buffer.from(`${part('name="files"; filename="d/f.txt"', 'content').repeat(10_000)}--b--`)
    let count = 0
    for await (const one of readForm(form(body, TYPE))) {
      expect(await readPartText(one, 100)).toBe('content')
      count += 1
    }
    expect(count).toBe(10_000)
  })
})

test('many parts of one chunk yield to the event loop', async () => {
  const part = '--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n\r\n'
  const request = form(`${part.repeat(20_000)}--b--\r\n`, TYPE, 2 * 1024 ** 2)
  const { result, turns } = await turnsDuring(() => readStreamed(request))
  expect(result).toHaveLength(20_000)
  expect(turns).toBeGreaterThan(3)
})
