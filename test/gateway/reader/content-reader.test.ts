import { CarReader } from '@ipld/car'
import { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import type { ContentEntry, ContentStream, DirectoryEntry } from '../../../src/index.ts'
import { CODEC } from '../../../src/ipld/cid.ts'
import { identityBlock } from '../../pins/fetches/support/dags.ts'
import { collect, pseudoRandom } from '../../support/bytes.ts'
import { withEngine } from '../../support/test-engine.ts'

const MIB = 1024 ** 2

function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'no error',
    (error: { code?: string }) => error.code ?? String(error),
  )
}

/** Reads one chunk and leaves the stream open. */
async function firstOf(stream: ContentStream): Promise<Uint8Array | undefined> {
  const reader = stream.getReader()
  try {
    return (await reader.read()).value
  } finally {
    reader.releaseLock()
  }
}

async function list(entries: AsyncIterable<ContentEntry>): Promise<string[]> {
  const names: string[] = []
  for await (const { name } of entries) names.push(name)
  return names
}

const SITE: DirectoryEntry[] = [
  { kind: 'file', path: 'index.html', content: '<h1>Hello</h1>' },
  { kind: 'file', path: 'img/100% real.svg', content: '<svg/>' },
  { kind: 'file', path: 'notes', content: 'plain' },
  { kind: 'symlink', path: 'img/home', target: '../index.html' },
  { kind: 'symlink', path: 'out', target: '../secret' },
]

describe('content in the process', () => {
  test('has the types that the gateway sends', async () => {
    await withEngine(async ({ engine, account }) => {
      const files: DirectoryEntry[] = [
        { kind: 'file', path: 'about', content: '<!doctype html>' },
        { kind: 'file', path: 'index.php', content: '<?php' },
        { kind: 'file', path: 'old.html', content: '<meta charset="koi8-r">' },
      ]
      const { cid } = (await engine.pins.uploadDirectory(files, { account })).record
      const typeAt = async (address: { cid: string; path?: string }): Promise<string> => {
        const { stream, type } = await engine.content.read(address)
        await stream.cancel()
        return type
      }
      expect(await typeAt({ cid, path: 'about' })).toBe('text/html; charset=utf-8')
      expect(await typeAt({ cid, path: 'index.php' })).toBe('text/plain; charset=utf-8')
      expect(await typeAt({ cid, path: 'old.html' })).toBe('text/html')
      const page = identityBlock(CODEC.raw, Buffer.from('<!doctype html>'))
      expect(await typeAt({ cid: page.cid.toString() })).toBe('text/plain; charset=utf-8')
    })
  })

  test('a file is read whole and in ranges, with size and type', async () => {
    await withEngine(async ({ engine, account }) => {
      const bytes = pseudoRandom(3 * MIB + 17, 'read in ranges')
      const { cid } = (await engine.pins.upload(bytes, { account })).record
      const whole = await engine.content.read({ cid })
      expect([whole.cid, whole.size, whole.type]).toEqual([cid, bytes.length, 'application/octet-stream'])
      expect((await collect(whole.stream)).equals(bytes)).toBe(true)
      for (const [start, end] of [
        [0, 10],
        [MIB - 1, 2 * MIB + 1],
        [bytes.length - 5, undefined],
        [5, bytes.length + 1_000],
        [bytes.length, undefined],
      ] as const) {
        const part = await engine.content.read({ cid, range: { start, end } })
        expect(part.size).toBe(bytes.length)
        expect((await collect(part.stream)).equals(bytes.subarray(start, end))).toBe(true)
      }
    })
  })

  test('paths are not percent-decoded and follow symbolic links', async () => {
    await withEngine(async ({ engine, account }) => {
      const { cid } = (await engine.pins.uploadDirectory(SITE, { account })).record
      const read = async (path: string) => {
        const { stream, type } = await engine.content.read({ cid, path, account })
        return [String(await collect(stream)), type]
      }
      expect(await read('img/100% real.svg')).toEqual(['<svg/>', 'image/svg+xml'])
      expect(await read('/img//home')).toEqual(['<h1>Hello</h1>', 'text/html; charset=utf-8'])
      expect(await read('notes')).toEqual(['plain', 'text/plain; charset=utf-8'])
      const stat = async (path?: string) => {
        const { type, size } = await engine.content.stat({ cid, path })
        return [type, size]
      }
      expect(await stat('notes')).toEqual(['file', 5])
      expect(await stat('img/home')).toEqual(['symlink', 13])
      expect((await stat())[0]).toBe('directory')
      expect((await stat())[1]).toBeGreaterThan(30)
    })
  })

  test('plain and sharded directories list all entries across pages', async () => {
    await withEngine(async ({ engine, account }) => {
      const content = Buffer.from('the same')
      const names = Array.from(
        { length: 4_100 },
        (_, index) => `a rather long name of a file ${'x'.repeat(40)} ${index}`,
      )
      const namesBelow = async (count: number) => {
        const entries = names.slice(0, count).map(path => ({ kind: 'file' as const, path, content }))
        const { cid } = (await engine.pins.uploadDirectory(entries, { account })).record
        const found: string[] = []
        for await (const { name, type, size } of engine.content.entries({ cid })) {
          if (type === 'file' && size === 8) found.push(name)
        }
        return found
      }
      const plain = names.slice(0, 700)
      expect(await namesBelow(700)).toEqual(plain.toSorted())
      expect((await namesBelow(4_100)).toSorted()).toEqual(names.toSorted())
    })
  })

  test('a CAR has the whole DAG and another engine imports it', async () => {
    await withEngine(async ({ engine, account }) => {
      const { cid } = (await engine.pins.uploadDirectory(SITE, { account })).record
      const car = await collect(await engine.content.exportCar({ cid }))
      const reader = await CarReader.fromBytes(car)
      expect((await reader.getRoots()).map(String)).toEqual([cid])
      const part = await CarReader.fromBytes(await collect(await engine.content.exportCar({ cid, path: 'img' })))
      const { cid: image } = await engine.content.stat({ cid, path: 'img' })
      expect((await part.getRoots()).map(String)).toEqual([image])
      expect(await part.has(CID.parse(cid))).toBe(false)
      await withEngine(async other => {
        const taken = await other.engine.pins.importCar(car, { account: other.account })
        const { stream } = await other.engine.content.read({ cid: taken.record.cid, path: 'notes' })
        expect(String(await collect(stream))).toBe('plain')
      })
    })
  })

  test('with an account, only its pins are readable', async () => {
    await withEngine(async ({ engine, account, newAccount, clock }) => {
      const other = await newAccount()
      const { record, files } = await engine.pins.uploadDirectory(SITE, { account })
      const file = files.find(({ path }) => path === 'notes')?.cid ?? ''
      for (const cid of [record.cid, file]) {
        expect(await codeOf(engine.content.stat({ cid, account }))).toBe('no error')
        expect(await codeOf(engine.content.stat({ cid, account: other }))).toBe('CID_NOT_FOUND')
        expect(await codeOf(engine.content.read({ cid: file, account: other }))).toBe('CID_NOT_FOUND')
        expect(await codeOf(engine.content.exportCar({ cid, account: other }))).toBe('CID_NOT_FOUND')
        expect(await codeOf(list(engine.content.entries({ cid, account: other })))).toBe('CID_NOT_FOUND')
        expect(await codeOf(engine.content.stat({ cid, account: 'nobody' }))).toBe('NOT_FOUND')
      }
      const timelock = new Date(clock.now() + 1_000).toISOString()
      await engine.pins.upload('plain', { account: other, timelock })
      expect(await codeOf(engine.content.stat({ cid: file, account: other }))).toBe('no error')
      clock.advance(1_000)
      expect(await codeOf(engine.content.stat({ cid: file, account: other }))).toBe('CID_NOT_FOUND')
      expect(await codeOf(engine.content.stat({ cid: file, account }))).toBe('no error')
      await engine.pins.remove({ account, cid: record.cid })
      expect(await codeOf(engine.content.stat({ cid: file, account }))).toBe('CID_NOT_FOUND')
    })
  })

  test("without an account, the gateway's allow list and takedowns apply", async () => {
    await withEngine(
      async ({ engine, account }) => {
        const { cid } = (await engine.pins.upload('not shown', { account })).record
        expect(await codeOf(engine.content.stat({ cid }))).toBe('CID_NOT_FOUND')
        expect(await codeOf(engine.content.stat({ cid, account }))).toBe('no error')
        await engine.takedowns.add({ cid, reason: 'as asked' })
        expect(await codeOf(engine.content.stat({ cid, account }))).toBe('GONE')
      },
      { gateway: { mode: 'allow-list', allow: [] } },
    )
  })

  test("malformed input is refused with the field's name", async () => {
    await withEngine(async ({ engine, account }) => {
      const { cid } = (await engine.pins.uploadDirectory(SITE, { account })).record
      const { content } = engine
      const read = (request: object) => codeOf(content.read({ cid, path: 'notes', ...request }))
      expect(await read({ cid: 'nonsense' })).toBe('INVALID_CID')
      expect(await read({ cid: undefined })).toBe('VALIDATION')
      expect(await read({ path: 7 })).toBe('VALIDATION')
      expect(await read({ account: null })).toBe('VALIDATION')
      expect(await read({ path: 'nothing' })).toBe('NOT_FOUND')
      expect(await read({ path: 'out' })).toBe('NOT_FOUND')
      expect(await read({ path: 'img' })).toBe('INVALID_PATH')
      expect(await codeOf(list(content.entries({ cid, path: 'notes' })))).toBe('INVALID_PATH')
      expect(await read({ range: { start: 6 } })).toBe('RANGE_NOT_SATISFIABLE')
      for (const range of [{ start: -1 }, { end: 1.5 }, { start: 3, end: 2 }, { start: '1' }]) {
        expect(await read({ range })).toBe('VALIDATION')
      }
    })
  })
})

describe('a stream', () => {
  const bytes = pseudoRandom(9 * MIB, 'streams')

  test('is a web stream that Response, pipes and uploads take', async () => {
    await withEngine(async ({ engine, account }) => {
      const { cid } = (await engine.pins.upload(bytes, { account })).record
      const { stream } = await engine.content.read({ cid, account })
      expect(stream).toBeInstanceOf(ReadableStream)
      expect(Buffer.from(await new Response(stream).arrayBuffer()).equals(bytes)).toBe(true)
      const { stream: piped } = await engine.content.read({ cid, account })
      expect((await collect(piped.pipeThrough(new TransformStream()))).equals(bytes)).toBe(true)
      const { record } = await engine.pins.upload((await engine.content.read({ cid, account })).stream, { account })
      expect(record.cid).toBe(cid)
    })
  })

  test('keeps its content from garbage collection until any end', async () => {
    await withEngine(async ({ engine, account, clock }) => {
      const open = async (signal?: AbortSignal) => {
        const { cid } = (await engine.pins.upload(bytes, { account })).record
        const { stream } = await engine.content.read({ cid, signal })
        await firstOf(stream)
        await engine.pins.remove({ account, cid })
        expect((await engine.collect({ graceSeconds: 0 })).blocks).toBe(0)
        return stream
      }
      const isCollected = async () => (await engine.collect({ graceSeconds: 0 })).blocks > 0
      expect((await collect(await open())).length).toBe(8 * MIB)
      expect(await isCollected()).toBe(true)
      await (await open()).cancel()
      expect(await isCollected()).toBe(true)
      for await (const _ of await open()) break
      expect(await isCollected()).toBe(true)
      const abort = new AbortController()
      const aborted = await open(abort.signal)
      abort.abort()
      expect(await codeOf(firstOf(aborted))).toBe('ABORTED')
      expect(await isCollected()).toBe(true)
      const left = await open()
      clock.advance(10 * 60_000)
      expect(await codeOf(firstOf(left))).toBe('ABORTED')
      expect(await isCollected()).toBe(true)
    })
  })

  test('fails with UNAVAILABLE if the engine stops', async () => {
    await withEngine(async ({ engine, account }) => {
      const { cid } = (await engine.pins.upload(bytes, { account })).record
      const { stream } = await engine.content.read({ cid })
      await firstOf(stream)
      await engine.stop()
      expect(await codeOf(collect(stream))).toBe('UNAVAILABLE')
      expect(await codeOf(engine.content.read({ cid }))).toBe('UNAVAILABLE')
      expect(await codeOf(engine.content.read({ cid, signal: AbortSignal.abort() }))).toBe('UNAVAILABLE')
    })
  })
})
