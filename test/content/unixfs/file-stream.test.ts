import fc from 'fast-check'
import type { CID } from 'multiformats/cid'
import { expect, test } from 'vitest'
import { MemoryBudget } from '../../../src/concurrency/capacity/memory-budget.ts'
import type { BlockReader } from '../../../src/content/unixfs/block-reader.ts'
import { rangesOf, streamFile } from '../../../src/content/unixfs/file-stream.ts'
import { decodeNode, fileInOneBlock } from '../../../src/content/unixfs/node.ts'
import { MapReader } from '../../gateway/map-reader.ts'
import { fileNode, pbBlock, rawBlock } from '../../gateway/world.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { ManualClock } from '../../support/manual-clock.ts'

/** A leaf by its length, or a node with its own bytes and children. */
type Shape = number | { inline: number; children: Shape[] }

const { shape } = fc.letrec<{ shape: Shape }>(tie => ({
  shape: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.nat({ max: 40 }),
    fc.record({ inline: fc.nat({ max: 10 }), children: fc.array(tie('shape'), { maxLength: 5 }) }),
  ),
}))

interface Built {
  cid: CID
  bytes: Buffer
}

/** Blocks of a file of that shape; equal parts are equal blocks. */
async function build(of: Shape, blocks: Map<string, Uint8Array>): Promise<Built> {
  if (typeof of === 'number') {
    const [cid, bytes] = await rawBlock(pseudoRandom(of, of % 3))
    blocks.set(cid.toString(), bytes)
    return { cid, bytes: Buffer.from(bytes) }
  }
  const children: Built[] = []
  for (const child of of.children) children.push(await build(child, blocks))
  const inline = pseudoRandom(of.inline, 'inline')
  const links = children.map(({ cid, bytes }) => ({ cid, size: bytes.length }))
  const [cid, block] = await pbBlock(fileNode(links, inline))
  blocks.set(cid.toString(), block)
  return { cid, bytes: Buffer.concat([inline, ...children.map(({ bytes }) => bytes)]) }
}

test('any range of any file is its bytes, from the necessary blocks', () =>
  fc.assert(
    fc.asyncProperty(shape, fc.nat(), fc.nat(), async (of, one, other) => {
      const blocks = new Map<string, Uint8Array>()
      const { cid, bytes } = await build(of, blocks)
      const start = Math.min(one % (bytes.length + 1), other % (bytes.length + 1))
      const end = Math.max(one % (bytes.length + 1), other % (bytes.length + 1))
      const root = decodeNode(cid, blocks.get(cid.toString()) ?? new Uint8Array())
      if (root.kind !== 'file') throw new Error('a file was built')
      expect(root.size).toBe(bytes.length)
      const reader = MapReader.over(blocks)
      const chunks: Uint8Array[] = []
      for await (const chunk of streamFile(reader, root, { start, end })) chunks.push(Buffer.from(chunk))
      expect(Buffer.concat(chunks).equals(bytes.subarray(start, end))).toBe(true)
      expect(chunks.every(chunk => chunk.length > 0)).toBe(true)
      if (start === end) expect(reader.reads).toBe(0)
      // All reads ahead have been released.
      expect([1, 2, 3, 4].map(() => reader.spareReads.take())).toEqual([true, true, true, false])
    }),
  ))

interface Begun {
  reader: MapReader
  stream: ReturnType<typeof streamFile>
  /** Ends the pending reads, in order. */
  pending: Array<() => void>
}

/** Begins a stream that has taken three pieces and reads ahead. */
async function begin(more: Pick<BlockReader, 'means'> = {}): Promise<Begun> {
  const blocks = new Map<string, Uint8Array>()
  const { cid } = await build({ inline: 0, children: [10, 20, 30, 31, 32] }, blocks)
  const root = decodeNode(cid, blocks.get(cid.toString()) ?? new Uint8Array())
  if (root.kind !== 'file') throw new Error('a file was built')
  const pending: Array<() => void> = []
  const read = (asked: CID): Promise<Uint8Array> =>
    new Promise(resolve => pending.push(() => resolve(blocks.get(asked.toString()) ?? new Uint8Array())))
  const reader = Object.assign(new MapReader(read), more)
  const stream = streamFile(reader, root, { start: 0, end: root.size })
  for (let taken = 0; taken < 3; taken++) {
    const next = stream.next()
    // The stream has started all its reads before the first of them ends. On a busy machine it yields before.
    do await new Promise(resolve => setImmediate(resolve))
    while (pending.length === 0)
    pending.splice(0, 1)[0]?.()
    await next
  }
  expect(pending.length).toBeGreaterThan(0)
  return { reader, stream, pending }
}

test('a stream that ends early releases its reads ahead', async () => {
  const { reader, stream } = await begin()
  await stream.return()
  expect([1, 2, 3, 4].map(() => reader.spareReads.take())).toEqual([true, true, true, false])
})

test('an answer that ends early gives back what it read ahead', async () => {
  const clock = new ManualClock()
  const memory = MemoryBudget.of(1024 ** 2, clock)
  const { stream, pending } = await begin({ means: { memory, clock, signal: new AbortController().signal } })
  await stream.return()
  expect(memory.used).toBeGreaterThan(0)
  for (const end of pending) end()
  await new Promise(resolve => setImmediate(resolve))
  expect(memory.used).toBe(0)
})

test.each(['raw', 'dag-pb', 'undecoded dag-pb'] as const)(
  'a file of one large %s block goes out in slices',
  async kind => {
    const data = pseudoRandom(256 * 1024, kind)
    const [cid, block] = kind === 'raw' ? await rawBlock(data) : await pbBlock(fileNode([], data))
    const content = kind === 'undecoded dag-pb' ? block : data
    const clock = new ManualClock()
    const memory = MemoryBudget.of(384 * 1024, clock)
    // The gateway gives the memory of a block away, so each read needs memory of its own.
    const reader = new MapReader(async () => new Uint8Array(block))
    reader.means = { memory, clock, signal: new AbortController().signal }
    const loaded = await reader.load(cid)
    const node = kind === 'undecoded dag-pb' ? fileInOneBlock(cid, loaded.block) : loaded.node
    if (node.kind !== 'file') throw new Error('not a file')
    const stream = rangesOf(reader, node)
    for (const range of [
      { start: 0, end: content.length },
      { start: 100_000, end: 200_000 },
    ]) {
      const pieces = stream(range)
      const first = (await pieces.next()).value ?? new Uint8Array()
      // The budget counts in KiB.
      expect([first.length, memory.used]).toEqual([16 * 1024, Math.ceil(content.length / 1024) * 1024])
      clock.advance(2_000)
      expect(memory.used).toBe(0)
      const rest: Uint8Array[] = []
      for await (const piece of pieces) rest.push(piece)
      expect(Buffer.concat([first, ...rest]).equals(content.subarray(range.start, range.end))).toBe(true)
    }
    const cached = await reader.load(cid)
    expect(Buffer.from(cached.block).equals(block)).toBe(true)
  },
)
