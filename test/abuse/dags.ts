import * as dagPb from '@ipld/dag-pb'
import { UnixFS } from 'ipfs-unixfs'
import type { CID } from 'multiformats/cid'
import { CODEC } from '../../src/ipld/cid.ts'
import { type Block, blockOf, type Dag, fileOf, leaf } from '../pins/fetches/support/dags.ts'

const SMALL = leaf(Buffer.from('what lies at the bottom'))

/** Builds a chain of blocks from the bottom up; `above` returns the parent of a block. */
function tower(levels: number, above: (below: CID) => Block, bottom: Dag = SMALL): Dag {
  const blocks = [...bottom.blocks]
  let root = bottom.root
  for (let level = 0; level < levels; level++) {
    const block = above(root)
    blocks.push(block)
    root = block.cid
  }
  return { root, blocks: blocks.reverse(), size: 0 }
}

function directoryNode(links: ReadonlyArray<{ Name: string; Hash: CID }>): Block {
  const Links = links.map(link => ({ ...link, Tsize: 1 }))
  return blockOf(CODEC.dagPb, dagPb.encode({ Data: new UnixFS({ type: 'directory' }).marshal(), Links }))
}

/** A file that repeats the same bytes `2 ** levels` times, in one block for each level. */
export function doublingFile(levels: number): Dag {
  let dag = leaf(Buffer.alloc(64, 'x'))
  for (let level = 0; level < levels; level++) dag = fileOf([dag, dag])
  return dag
}

/** A directory with `2 ** levels` paths, in one block for each level. */
export function doublingDirectory(levels: number): Dag {
  return tower(levels, below =>
    directoryNode([
      { Name: 'a', Hash: below },
      { Name: 'b', Hash: below },
    ]),
  )
}

export function nestedDirectories(levels: number): Dag {
  return tower(levels, below => directoryNode([{ Name: 'd', Hash: below }]))
}

/** A directory of `count` small files. */
export function flatDirectory(count: number, seed: string): Dag {
  const files = Array.from({ length: count }, (_, i) => leaf(Buffer.from(`${seed} ${i}`)))
  const names = files.map((_, i) => `f${String(i).padStart(6, '0')}`)
  const node = directoryNode(files.map(({ root }, i) => ({ Name: names[i] ?? '', Hash: root })))
  return { root: node.cid, blocks: [node, ...files.flatMap(file => file.blocks)], size: 0 }
}

/** A directory of many names for the same file, whose root block has `links` links. */
export function manyNamesForOneLargeBlock(names: number, links: number): Dag {
  const [below] = SMALL.blocks
  const unixfs = new UnixFS({ type: 'file', blockSizes: Array.from({ length: links }, () => BigInt(SMALL.size)) })
  const Links = Array.from({ length: links }, () => ({ Name: '', Tsize: SMALL.size, Hash: SMALL.root }))
  const large = blockOf(CODEC.dagPb, dagPb.encode({ Data: unixfs.marshal(), Links }))
  const node = directoryNode(
    Array.from({ length: names }, (_, i) => ({ Name: `n${String(i).padStart(4, '0')}`, Hash: large.cid })),
  )
  return { root: node.cid, blocks: [node, large, ...(below === undefined ? [] : [below])], size: 0 }
}

/** Shards of a directory nested in each other, each with one child. */
export function nestedShards(levels: number): Dag {
  const shard = (Name: string, Hash: CID): Block => {
    const data = new UnixFS({ type: 'hamt-sharded-directory', data: Uint8Array.of(1), hashType: 0x22n, fanout: 256n })
    return blockOf(CODEC.dagPb, dagPb.encode({ Data: data.marshal(), Links: [{ Name, Tsize: 1, Hash }] }))
  }
  const bottom = shard('00name', SMALL.root)
  return tower(levels, below => shard('00', below), {
    root: bottom.cid,
    blocks: [...SMALL.blocks, bottom],
    size: 0,
  })
}

/** A document of nested arrays, the innermost with `items` numbers. */
export function nestedDocument(depth: number, items: number): Dag {
  const inner = Array.from({ length: items }, () => '0').join(',')
  const block = blockOf(CODEC.dagJson, Buffer.from(`${'['.repeat(depth)}${inner}${']'.repeat(depth)}`))
  return { root: block.cid, blocks: [block], size: block.bytes.length }
}
