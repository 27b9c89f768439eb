import { CID } from 'multiformats/cid'
import { expect, test } from 'vitest'
import { MemoryBudget } from '../../../src/concurrency/capacity/memory-budget.ts'
import { StreamedBlock } from '../../../src/content/unixfs/streamed-block.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { ManualClock } from '../../support/manual-clock.ts'

const MIB = 1024 ** 2
const SLICE = 16 * 1024
const cid = CID.parse('bafkqaaa')
const content = pseudoRandom(MIB, 'sent')

function world(limit: number) {
  const clock = new ManualClock()
  const memory = MemoryBudget.of(limit, clock)
  const reads: Uint8Array[] = []
  const source = {
    get: async () => {
      const bytes = new Uint8Array(content)
      reads.push(bytes)
      return bytes
    },
  }
  const means = { memory, clock, signal: new AbortController().signal }
  const read = () => StreamedBlock.read(source, means, cid, MIB)
  const resume = (bytes: Uint8Array, isShared = false) =>
    StreamedBlock.resume({ ...source, isShared }, means, cid, bytes)
  return { clock, memory, reads, read, resume }
}

test('a stalled client gets every byte, slice by slice', async () => {
  const { clock, memory, reads, read } = world(MIB)
  const pieces = (await read()).pieces(0, MIB)
  const first = (await pieces.next()).value
  expect([first?.byteLength, memory.used]).toEqual([SLICE, MIB])
  clock.advance(1_999)
  expect(memory.used).toBe(MIB)
  clock.advance(1)
  expect([memory.used, reads[0]?.byteLength]).toEqual([0, 0])
  const rest: Uint8Array[] = []
  for await (const piece of pieces) rest.push(piece)
  expect(Buffer.concat([first ?? new Uint8Array(), ...rest]).equals(content)).toBe(true)
  expect([reads.length, memory.used]).toEqual([2, 0])
})

test('a slice is smaller if the budget is small', async () => {
  const sizes = await Promise.all(
    [MIB, 64 * MIB, 4096 * MIB].map(async limit => {
      const { memory, read } = world(limit)
      if (limit > MIB) await memory.take(limit / 2, new AbortController().signal)
      const pieces = (await read()).pieces(0, MIB)
      const { value } = await pieces.next()
      await pieces.return()
      return value?.byteLength
    }),
  )
  expect(sizes).toEqual([16 * 1024, 32 * 1024, 128 * 1024])
})

test('a block goes out whole while memory is plentiful', async () => {
  const { memory, reads, read } = world(8 * MIB)
  const pieces = (await read()).pieces(100, MIB)
  const { value } = await pieces.next()
  expect(value?.byteLength).toBe(MIB - 100)
  expect([memory.used, reads.length]).toEqual([MIB, 1])
  await pieces.next()
  // The reader of the piece may still be writing it.
  expect([memory.used, reads[0]?.byteLength]).toEqual([0, MIB])
})

test('a stalled client gives way within 100 milliseconds to one that waits', async () => {
  const { clock, memory, read } = world(MIB)
  const pieces = (await read()).pieces(0, MIB)
  await pieces.next()
  const other = read()
  clock.advance(100)
  ;(await other).drop()
  expect(memory.used).toBe(0)
})

test('a block that nobody reads gives its memory back', async () => {
  const { memory, reads, read } = world(MIB)
  const pieces = (await read()).pieces(0, MIB)
  await pieces.next()
  await pieces.return()
  expect([memory.used, reads[0]?.byteLength]).toEqual([0, 0])
  const dropped = await read()
  dropped.drop()
  expect(memory.used).toBe(0)
})

test('bytes that are already read count against the memory', async () => {
  const { memory, reads, resume } = world(8 * MIB)
  const block = await resume(new Uint8Array(content))
  expect(memory.used).toBe(MIB)
  const sent: Uint8Array[] = []
  for await (const piece of block.pieces(0, MIB)) sent.push(piece)
  expect([Buffer.concat(sent).equals(content), reads.length, memory.used]).toEqual([true, 0, 0])
})

test('while memory is scarce, bytes are read again in turn', async () => {
  const { memory, reads, resume } = world(MIB)
  await memory.take(MIB, new AbortController().signal)
  const block = await resume(new Uint8Array(content))
  expect(memory.used).toBe(MIB)
  memory.give(MIB)
  const sent: Uint8Array[] = []
  for await (const piece of block.pieces(0, MIB)) sent.push(piece)
  expect([Buffer.concat(sent).equals(content), reads.length]).toEqual([true, 1])
})

test('bytes that others share stay whole', async () => {
  const { resume } = world(MIB)
  const shared = new Uint8Array(content)
  const pieces = (await resume(shared, true)).pieces(0, MIB)
  await pieces.next()
  await pieces.return()
  expect(Buffer.from(shared).equals(content)).toBe(true)
})
