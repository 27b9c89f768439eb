import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { type ByteSource, bytesOf, wholeUpTo } from '../../src/domain/sources.ts'
import { createEngine } from '../../src/index.ts'
import { collect } from '../support/bytes.ts'
import { planOf } from '../support/plans.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { withEngine } from '../support/test-engine.ts'

const TEXT = 'grün 🌱'
const BYTES = Buffer.from(TEXT)
const [HALF, OTHER_HALF] = ['grün \ud83c', '\udf31']

async function* later<T>(...pieces: T[]): AsyncGenerator<T> {
  yield* pieces
}

function arrayBuffer(): ArrayBuffer {
  return BYTES.buffer.slice(BYTES.byteOffset, BYTES.byteOffset + BYTES.byteLength) as ArrayBuffer
}

function shared(): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(BYTES.length)
  new Uint8Array(buffer).set(BYTES)
  return buffer
}

/** A web stream as some type libraries and hosts know it: without an iterator. */
function bareStream(): Pick<ReadableStream<Uint8Array>, 'getReader'> {
  const stream = new Blob([BYTES]).stream()
  return { getReader: (() => stream.getReader()) as ReadableStream<Uint8Array>['getReader'] }
}

const SOURCES: Record<string, () => ByteSource> = {
  'a string': () => TEXT,
  'a Uint8Array': () => new Uint8Array(BYTES),
  'a Buffer': () => BYTES,
  'an ArrayBuffer': arrayBuffer,
  'a SharedArrayBuffer': shared,
  'a DataView': () => new DataView(arrayBuffer()),
  'a Uint16Array': () => new Uint16Array(new Uint8Array(BYTES).buffer),
  'a Blob': () => new Blob([TEXT]),
  'a File': () => new File([TEXT], 'a.txt'),
  'a web stream': () => new Blob([BYTES]).stream(),
  'a web stream without an iterator': bareStream,
  'the body of a Response': () => new Response(TEXT),
  'the body of a Request': () => new Request('http://localhost/', { method: 'POST', body: TEXT }),
  'a Node stream': () => Readable.from([BYTES.subarray(0, 3), BYTES.subarray(3)]),
  'a Node stream of text': () => Readable.from(BYTES, { objectMode: false }).setEncoding('utf8'),
  'an array of pieces': () => [BYTES.subarray(0, 3), BYTES.subarray(3)],
  'text in pieces': () => later('gr', 'ün ', '🌱'),
  'text cut between the halves of a character': () => [HALF, OTHER_HALF],
  'pieces of all kinds': () =>
    later<ArrayBuffer | Buffer>(new Uint8Array(BYTES.subarray(0, 3)).buffer, BYTES.subarray(3)),
}

async function readOnce<T extends AsyncIterable<unknown>>(stream: T): Promise<T> {
  for await (const _ of stream);
  return stream
}

async function readByReader(): Promise<ReadableStream> {
  const stream = new Blob([TEXT]).stream()
  const reader = stream.getReader()
  await reader.read()
  reader.releaseLock()
  return stream
}

/** Streams and bodies that have given some of their bytes to somebody else, or are over. */
const SPENT: Record<string, () => ByteSource | Promise<ByteSource>> = {
  'a Node stream that was read': () => readOnce(Readable.from([BYTES])),
  'a Node stream that was partly read': async () => {
    const stream = Readable.from([BYTES, BYTES])
    await once(stream, 'readable')
    stream.read()
    return stream
  },
  'a destroyed Node stream': () => Readable.from([BYTES]).destroy(),
  'a web stream that was read': () => readOnce(new Blob([TEXT]).stream()),
  'a web stream whose reader has left': readByReader,
  'a canceled web stream': async () => {
    const stream = new Blob([TEXT]).stream()
    await stream.cancel()
    return stream
  },
  'a read Response': async () => {
    const response = new Response(TEXT)
    await response.text()
    return response
  },
}

const WRONG: ReadonlyArray<[unknown, RegExp]> = [
  [undefined, /content is undefined/],
  [null, /content is null/],
  [7, /content is a number/],
  [{}, /content is an object \(Object\)/],
  [new Date(0), /content is an object \(Date\)/],
  [[1, 2, 3], /content yields a number/],
  [[null], /content yields null/],
  [{ [Symbol.asyncIterator]: () => later({ chunk: 1 }) }, /content yields an object/],
]

describe('a source of bytes', () => {
  test.each(Object.entries(SOURCES))('%s', async (_, make) => {
    expect((await collect(bytesOf(make(), { name: 'content' }))).toString()).toBe(TEXT)
  })

  test('may be empty', async () => {
    for (const empty of ['', [], new Uint8Array(0), new Blob([]), new Response(null), later<string>()]) {
      expect(await collect(bytesOf(empty, { name: 'content' }))).toHaveLength(0)
    }
  })

  test.each(WRONG)('is not %s', async (source, message) => {
    const reading = collect(bytesOf(source as ByteSource, { name: 'content' }))
    await expect(reading).rejects.toMatchObject({ code: 'VALIDATION', message: expect.stringMatching(message) })
  })

  test('is not a body or stream that is locked', async () => {
    const used = new Response(TEXT)
    await used.text()
    const locked = new Blob([TEXT]).stream()
    locked.getReader()
    for (const taken of [used, locked]) {
      const reading = collect(bytesOf(taken, { name: 'content' }))
      await expect(reading).rejects.toMatchObject({ code: 'VALIDATION' })
    }
  })

  test.each(Object.entries(SPENT))('is not %s', async (_, make) => {
    const reading = collect(bytesOf(await make(), { name: 'content' }))
    const message = expect.stringMatching(/^content (is a stream that has been read|has a body that has been read)/)
    await expect(reading).rejects.toMatchObject({ code: 'VALIDATION', message })
  })

  test('is closed if the reader leaves early', async () => {
    let reason: unknown = 'open'
    const stream = new ReadableStream<Uint8Array>({
      pull: controller => controller.enqueue(BYTES),
      cancel: () => {
        reason = 'closed'
      },
    })
    for await (const _ of bytesOf(stream, { name: 'content' })) break
    expect(reason).toBe('closed')
  })
})

describe('the engine', () => {
  test.each(Object.entries(SPENT))('stores nothing of %s', async (_, make) => {
    await withEngine(async ({ engine, account }) => {
      const refused = { code: 'VALIDATION' }
      await expect(engine.pins.upload(await make(), { account })).rejects.toMatchObject(refused)
      const entry = { kind: 'file' as const, path: 'a', content: await make() }
      await expect(engine.pins.uploadDirectory([entry], { account })).rejects.toMatchObject(refused)
      await expect(engine.pins.importCar(await make(), { account })).rejects.toMatchObject(refused)
      expect((await engine.pins.list({ account })).total).toBe(0)
    })
  })

  test('gives every source of the same bytes one CID, and refuses others', async () => {
    await withEngine(async ({ engine, account }) => {
      const cids = new Set<string>()
      for (const make of Object.values(SOURCES)) {
        cids.add((await engine.pins.upload(make(), { account })).record.cid)
      }
      expect(cids.size).toBe(1)
      for (const [source] of WRONG) {
        const refused = { code: 'VALIDATION' }
        await expect(engine.pins.upload(source as ByteSource, { account })).rejects.toMatchObject(refused)
        await expect(engine.pins.importCar(source as ByteSource, { account })).rejects.toMatchObject(refused)
      }
    })
  })

  test('takes arrays of entries with any sources', async () => {
    await withTempDir(async dir => {
      const path = join(dir, 'a.txt')
      await writeFile(path, TEXT)
      await withEngine(async ({ engine, account }) => {
        const entries = [
          { kind: 'file' as const, path: 'blob.txt', content: new Blob([TEXT]) },
          { kind: 'file' as const, path: 'disk.txt', content: createReadStream(path) },
          { kind: 'directory' as const, path: 'empty' },
        ]
        const { totalFiles, files } = await engine.pins.uploadDirectory(entries, { account })
        expect([totalFiles, new Set(files.map(({ cid }) => cid)).size]).toEqual([2, 1])
      })
    })
  })

  test('names the fault of an entry', async () => {
    await withEngine(async ({ engine, account }) => {
      const wrong: ReadonlyArray<[unknown, RegExp]> = [
        [undefined, /entries must be an iterable/],
        ['text', /entries must be an iterable/],
        [[null], /needs a path/],
        [[{ kind: 'file', content: 'x' }], /needs a path/],
        [[{ kind: 'fil', path: 'a', content: 'x' }], /a must be a file, a directory/],
        [[{ kind: 'symlink', path: 'a' }], /a must be a file, a directory/],
        [[{ kind: 'file', path: 'a/b' }], /content of a\/b is undefined/],
      ]
      for (const [entries, message] of wrong) {
        const upload = engine.pins.uploadDirectory(entries as never, { account })
        await expect(upload).rejects.toMatchObject({ code: 'VALIDATION', message: expect.stringMatching(message) })
      }
    })
  })

  test('counts the bytes of text, not its characters', async () => {
    await withEngine(
      async ({ engine, newAccount }) => {
        const account = await newAccount('small')
        const text = later('🌱🌱')
        await expect(engine.pins.upload(text, { account })).rejects.toMatchObject({ code: 'FILE_TOO_LARGE' })
        const { record } = await engine.pins.upload(later('🌱'), { account })
        expect(record.size).toBe(4)
      },
      { plans: { small: planOf({ maxFileBytes: 4 }) } },
    )
  })

  test('needs a data directory', async () => {
    for (const options of [undefined, {}, { dataDir: 7 }, { dataDir: '' }]) {
      const starting = createEngine(options as never)
      await expect(starting).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringMatching(/dataDir/),
      })
    }
  })
})

describe('a whole source', () => {
  test('is read into one piece, or closed beyond the limit', async () => {
    expect(await wholeUpTo(later(BYTES.subarray(0, 4), BYTES.subarray(4)), BYTES.length)).toEqual(BYTES)
    let given = 0
    let isClosed = false
    const endless = async function* (): AsyncGenerator<Uint8Array> {
      try {
        while (given < 100) yield Buffer.alloc(++given)
      } finally {
        isClosed = true
      }
    }
    expect(await wholeUpTo(endless(), 5)).toBeNull()
    expect([given, isClosed]).toEqual([3, true])
  })
})
