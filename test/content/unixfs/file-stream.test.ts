import fc from 'fast-check'
import type { CID } from 'multiformats/cid'
import { expect, test } from 'vitest'
import { streamFile } from '../../../src/content/unixfs/file-stream.ts'
import { decodeNode } from '../../../src/content/unixfs/node.ts'
import { MapReader } from '../../gateway/map-reader.ts'
import { fileNode, pbBlock, rawBlock } from '../../gateway/world.ts'
import { pseudoRandom } from '../../support/bytes.ts'

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

test('a stream that ends early releases its reads ahead', async () => {
  const blocks = new Map<string, Uint8Array>()
  const { cid } = await build({ inline: 0, children: [10, 20, 30, 31, 32] }, blocks)
  const root = decodeNode(cid, blocks.get(cid.toString()) ?? new Uint8Array())
  if (root.kind !== 'file') throw new Error('a file was built')
  const pending: Array<() => void> = []
  const reader = new MapReader(
    asked => new Promise(resolve => pending.push(() => resolve(blocks.get(asked.toString()) ?? new Uint8Array()))),
  )
  const stream = streamFile(reader, root, { start: 0, end: root.size })
  for (let taken = 0; taken < 3; taken++) {
    const next = stream.next()
    // The stream has started all its reads before the first of them ends.
    await new Promise(resolve => setImmediate(resolve))
    pending.splice(0, 1)[0]?.()
    await next
  }
  expect(pending.length).toBeGreaterThan(0)
  await stream.return()
  expect([1, 2, 3, 4].map(() => reader.spareReads.take())).toEqual([true, true, true, false])
})
