import { fileTypeFromBuffer } from 'file-type'
import { afterEach, expect, test, vi } from 'vitest'
import { decodeNode, type FileNode, fileInOneBlock } from '../../../src/content/unixfs/node.ts'
import { isActive } from '../../../src/gateway/representations/active-type.ts'
import { typeOfFile } from '../../../src/gateway/representations/content-type.ts'
import { contentTypeOf } from '../../../src/gateway/representations/told-by-bytes.ts'
import { directClient } from '../client.ts'
import { MapReader } from '../map-reader.ts'
import { fileNode, GatewayWorld, pbBlock, rawBlock } from '../world.ts'
import { NAMED_KINDS } from './kinds.ts'

vi.mock('file-type', async original => {
  const library = await original<typeof import('file-type')>()
  return { ...library, fileTypeFromBuffer: vi.fn(library.fileTypeFromBuffer) }
})

afterEach(() => void vi.mocked(fileTypeFromBuffer).mockClear())

/** Returns how much a type tells: nothing, its family, or the kind. */
function rank(type: string): number {
  if (type === 'application/octet-stream') return 0
  return /^(text\/plain|application\/(zip|xml))/.test(type) ? 1 : 2
}

test.each(NAMED_KINDS)('tells .$ending files by name and bytes no worse than Kubo', async kind => {
  const { ending, start, types, kubo } = kind
  expect(await typeOf(start, `a.${ending}`)).toBe(types[0])
  expect(await typeOf(start, 'a')).toBe(types[1])
  for (const [index, type] of types.entries()) expect(rank(type)).toBeGreaterThanOrEqual(rank(kubo[index] ?? ''))
})

test('the library gets at most 4 KiB, as a buffer', async () => {
  const world = await GatewayWorld.open()
  try {
    const cid = await world.addFile(Buffer.alloc(2_000_000))
    const { request } = directClient(world.gateway())
    expect((await request('GET', `/ipfs/${cid}`, { range: 'bytes=1500000-1500001' })).status).toBe(206)
    expect((await request('HEAD', `/ipfs/${cid}`)).status).toBe(200)
    const given = vi.mocked(fileTypeFromBuffer).mock.calls.map(([bytes]) => bytes)
    expect(given.map(bytes => [bytes instanceof Uint8Array, bytes.byteLength])).toEqual([[true, 4096]])
  } finally {
    await world.close()
  }
})

test('an error of the library makes the type application/octet-stream', async () => {
  vi.mocked(fileTypeFromBuffer).mockRejectedValueOnce(new RangeError('out of bounds'))
  expect(await typeOf(Buffer.from('\x89PNG\r\n\x1a\n\0', 'latin1'), 'a')).toBe('application/octet-stream')
})

test('the library never makes bytes a type that browsers run', async () => {
  for (const mime of ['text/html', 'application/xml', 'application/xhtml+xml', 'image/svg+xml'] as const) {
    vi.mocked(fileTypeFromBuffer).mockResolvedValueOnce({ ext: 'xml', mime: mime as 'application/xml' })
    const type = await contentTypeOf(null, Buffer.from([0, 1, 2, 3]), true)
    expect(isActive(type)).toBe(false)
  }
})

test('reads the start of a file once, never for known images', async () => {
  const leaves = [await rawBlock(Buffer.alloc(5000, 'x')), await rawBlock(Buffer.alloc(5000, 'y'))]
  const [cid, bytes] = await pbBlock(fileNode(leaves.map(([leaf, { length }]) => ({ cid: leaf, size: length }))))
  const reader = MapReader.over(new Map(leaves.map(([leaf, block]) => [leaf.toString(), block])))
  const file = decodeNode(cid, bytes) as FileNode
  expect((await typeOfFile(reader, file, 'a.png')).value).toBe('image/png')
  expect(reader.reads).toBe(0)
  for (const name of ['a.txt', 'a.txt', 'a.txt']) {
    expect((await typeOfFile(reader, file, name)).value).toBe('text/plain; charset=utf-8')
  }
  expect(reader.reads).toBe(1)
})

async function typeOf(start: Uint8Array, name: string): Promise<string> {
  const [cid] = await rawBlock(start)
  const { value } = await typeOfFile(MapReader.over(new Map()), fileInOneBlock(cid, start), name)
  return value
}
