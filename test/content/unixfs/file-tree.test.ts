import * as dagPb from '@ipld/dag-pb'
import { UnixFS } from 'ipfs-unixfs'
import { balanced } from 'ipfs-unixfs-importer/layout'
import type { CID } from 'multiformats/cid'
import { sha256 } from 'multiformats/hashes/sha2'
import { expect, test } from 'vitest'
import type { StagedDag } from '../../../src/content/dag/staged-dag.ts'
import { FileTree, fileData } from '../../../src/content/unixfs/file-tree.ts'
import { readUnixfs } from '../../../src/content/unixfs/node.ts'
import { blockOf, leaf } from '../../pins/fetches/support/dags.ts'

const GiB = 1024 ** 3

/** Returns a tree with its blocks in memory. */
function tree() {
  const blocks = new Map<string, Uint8Array>()
  const staged = {
    put: async (cid: CID, bytes: Uint8Array) => {
      blocks.set(`${cid}`, bytes)
    },
    store: { hash: (bytes: Uint8Array) => sha256.digest(bytes) },
  }
  return { blocks, tree: new FileTree(staged as unknown as StagedDag) }
}

test.each([1, 2, 1_024, 1_025, 2_049])('%i chunks make the tree of the reference importer', async count => {
  const chunk = leaf(Buffer.from('a chunk'))
  const own = tree()
  for (let i = 0; i < count; i++) await own.tree.add({ cid: chunk.root, size: chunk.size, tsize: chunk.size })
  const root = await own.tree.root()
  expect(root.size).toBe(count * chunk.size)

  type Part = { cid: CID; size: bigint; unixfs?: UnixFS }
  const reduce = async (parts: Part[]): Promise<Part> => {
    const [only] = parts
    if (count === 1 && only !== undefined) return only
    const unixfs = new UnixFS({ type: 'file' })
    for (const part of parts) unixfs.addBlockSize(part.unixfs?.fileSize() ?? part.size)
    const Links = parts.map(part => ({ Name: '', Tsize: Number(part.size), Hash: part.cid }))
    const { cid, bytes } = blockOf(0x70, dagPb.encode({ Data: unixfs.marshal(), Links }))
    return { cid, unixfs, size: parts.reduce((sum, part) => sum + part.size, BigInt(bytes.length)) }
  }
  const leaves = (async function* () {
    for (let i = 0; i < count; i++) yield { cid: chunk.root, size: BigInt(chunk.size) }
  })()
  const layout = balanced({ maxChildrenPerNode: 1_024 }) as unknown as (
    source: typeof leaves,
    reducer: typeof reduce,
  ) => Promise<Part>
  const reference = await layout(leaves, reduce)
  expect(root.cid.toString()).toBe(reference.cid.toString())
  expect(root.tsize).toBe(Number(reference.size))
})

test.each([1, 3 * GiB, 2 * GiB, 4 * GiB - 1, 4 * GiB, 2 ** 45])('sizes of %i bytes survive encoding', size => {
  const data = fileData([size, 5])
  expect(readUnixfs(data, 2)).toMatchObject({ type: 'file', sizes: [size, 5] })
  expect(UnixFS.unmarshal(data)).toMatchObject({ type: 'file', blockSizes: [BigInt(size), 5n] })
  expect(UnixFS.unmarshal(data).fileSize()).toBe(BigInt(size + 5))
})
