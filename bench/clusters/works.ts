import { randomFillSync } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Scale } from '../bench.ts'
import { clientsFor } from '../clients/clients.ts'
import { askAll, hammerWithNode, readWithNode } from '../clients/node-client.ts'
import { FileContent, TreeContent } from '../content.ts'
import { cidOfFile } from '../services/filled.ts'
import type { Keeper } from './keeper.ts'

const MIB = 1024 * 1024
const SMALL_BYTES = 4 * 1024
const RANGES = 16

export interface Sizes {
  /** Small files: `oneByOne` are uploaded one after the other, `atOnce` over 16 connections. */
  oneByOne: number
  atOnce: number
  fileBytes: number
  files: number
}

export const SIZES: Readonly<Record<Scale, Sizes>> = {
  full: { oneByOne: 100, atOnce: 400, fileBytes: 100 * MIB, files: 5_000 },
  quick: { oneByOne: 40, atOnce: 160, fileBytes: 32 * MIB, files: 1_000 },
  tiny: { oneByOne: 3, atOnce: 8, fileBytes: 3 * MIB, files: 40 },
}

/** Content that later works of the same round read. */
export interface Stored {
  small: string[]
  file: string
  fileBytes: number
}

export interface Done {
  amount: number
  /** Seconds until the last answer. */
  seconds: number
  /** Seconds until everything was pinned; undefined for reads. */
  pinnedSeconds?: number
}

export interface Work {
  name: string
  unit: string
  run(keeper: Keeper, stored: Stored, at: { scale: Scale; dir: string }): Promise<Done>
}

/** All works. The order matters: reads need what earlier works stored. */
export const WORKS: readonly Work[] = [
  uploadsOf('one-by-one', 1, ({ oneByOne }) => oneByOne),
  uploadsOf('sixteen-at-once', 16, ({ atOnce }) => atOnce),
  {
    name: 'file',
    unit: 'MB/s',
    async run(keeper, stored, { scale, dir }) {
      const content = new FileContent(SIZES[scale].fileBytes)
      const { seconds, root, pinnedSeconds } = await uploadForm(keeper, 'file', content, { scale, dir })
      Object.assign(stored, { file: root, fileBytes: content.bytes.length })
      return { amount: content.bytes.length / 1e6, seconds, pinnedSeconds }
    },
  },
  {
    name: 'folder',
    unit: 'files/s',
    async run(keeper, _, { scale, dir }) {
      const { files } = SIZES[scale]
      const { seconds, pinnedSeconds } = await uploadForm(keeper, 'tree', new TreeContent(files, SMALL_BYTES), {
        scale,
        dir,
      })
      return { amount: files, seconds, pinnedSeconds }
    },
  },
  {
    name: 'read-file',
    unit: 'MB/s',
    async run(keeper, { file }, { scale }) {
      const { seconds, bytes } = await clientsFor(scale).read(keeper.read(file))
      return { amount: bytes / 1e6, seconds }
    },
  },
  {
    name: 'read-ranges',
    unit: 'MB/s',
    async run(keeper, { file, fileBytes }) {
      const began = performance.now()
      let amount = 0
      for (let i = 0; i < RANGES; i++) {
        // The `+ 1` avoids starting at the border of a block.
        const start = Math.floor(((fileBytes - MIB) * i) / RANGES) + 1
        const read = keeper.read(file)
        const range = { ...read.headers, range: `bytes=${start}-${start + MIB - 1}` }
        amount += (await readWithNode({ ...read, headers: range })).bytes / 1e6
      }
      return { amount, seconds: (performance.now() - began) / 1_000 }
    },
  },
  {
    name: 'read-small',
    unit: '/s',
    async run(keeper, { small }) {
      const calls = small.map(cid => keeper.read(cid))
      const { seconds, done } = await hammerWithNode({ calls, connections: 16, count: calls.length, seconds: 0 })
      return { amount: done, seconds }
    },
  },
]

function uploadsOf(name: string, connections: number, countOf: (sizes: Sizes) => number): Work {
  return {
    name,
    unit: '/s',
    async run(keeper, stored, { scale }) {
      const amount = countOf(SIZES[scale])
      const bytes = randomFillSync(Buffer.alloc(amount * SMALL_BYTES))
      const files = Array.from({ length: amount }, (_, at) => bytes.subarray(at * SMALL_BYTES, (at + 1) * SMALL_BYTES))
      stored.small = files.map(cidOfFile)
      const began = performance.now()
      await askAll(keeper.upload('file'), files, connections)
      const seconds = (performance.now() - began) / 1_000
      await keeper.untilPinned(stored.small)
      return { amount, seconds, pinnedSeconds: (performance.now() - began) / 1_000 }
    },
  }
}

async function uploadForm(
  keeper: Keeper,
  kind: 'file' | 'tree',
  content: FileContent | TreeContent,
  { scale, dir }: { scale: Scale; dir: string },
): Promise<{ root: string; seconds: number; pinnedSeconds: number }> {
  content.refill()
  const { path, contentType } = await content.formFile(join(dir, 'form'))
  const began = performance.now()
  const { seconds, body } = await clientsFor(scale).send(keeper.upload(kind), path, contentType)
  const answered = performance.now()
  const root = keeper.rootOf(body)
  await keeper.untilPinned([root])
  const ended = performance.now()
  await rm(path)
  // Uses the load client's clock, which excludes its start.
  return { root, seconds, pinnedSeconds: seconds + (ended - Math.max(answered, began)) / 1_000 }
}
