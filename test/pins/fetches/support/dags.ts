import { createHash } from 'node:crypto'
import * as dagPb from '@ipld/dag-pb'
import { UnixFS } from 'ipfs-unixfs'
import { CID } from 'multiformats/cid'
import * as Digest from 'multiformats/hashes/digest'
import { CODEC, HASH } from '../../../../src/ipld/cid.ts'
import { pseudoRandom } from '../../../support/bytes.ts'

export interface Block {
  cid: CID
  bytes: Uint8Array
}

/** A root and all blocks below it. The root comes first. */
export interface Dag {
  root: CID
  blocks: Block[]
  /** Content bytes; 0 without content. */
  size: number
}

export function blockOf(codec: number, bytes: Uint8Array): Block {
  const digest = createHash('sha256').update(bytes).digest()
  return { cid: CID.createV1(codec, Digest.create(HASH.sha2_256, digest)), bytes }
}

export function identityBlock(codec: number, bytes: Uint8Array): Block {
  return { cid: CID.createV1(codec, Digest.create(HASH.identity, bytes)), bytes }
}

export function leaf(bytes: Uint8Array): Dag {
  const block = blockOf(CODEC.raw, bytes)
  return { root: block.cid, blocks: [block], size: bytes.length }
}

/** Makes leaves from a seed. The same seed gives the same leaves in every process. */
export function leaves(count: number, size: number, seed: string): Dag[] {
  return Array.from({ length: count }, (_, i) => leaf(pseudoRandom(size, `${seed} ${i}`)))
}

/** Makes a UnixFS file of the parts, in order. */
export function fileOf(parts: readonly Dag[]): Dag {
  const unixfs = new UnixFS({ type: 'file', blockSizes: parts.map(part => BigInt(part.size)) })
  const links = parts.map(part => ({ Name: '', Tsize: part.size, Hash: part.root }))
  const node = blockOf(CODEC.dagPb, dagPb.encode({ Data: unixfs.marshal(), Links: links }))
  return joined(node, parts)
}

/** Makes a UnixFS directory. Entries must be sorted by name. */
export function directoryOf(entries: Readonly<Record<string, Dag>>): Dag {
  const names = Object.keys(entries).sort()
  const children = names.map(name => entries[name] as Dag)
  const links = children.map(({ root, size }, i) => ({ Name: names[i] ?? '', Tsize: size, Hash: root }))
  const data = new UnixFS({ type: 'directory' }).marshal()
  return joined(blockOf(CODEC.dagPb, dagPb.encode({ Data: data, Links: links })), children)
}

/** Makes a node of any codec above the children. */
export function joined(node: Block, children: readonly Dag[]): Dag {
  const distinct = new Map([node, ...children.flatMap(child => child.blocks)].map(block => [`${block.cid}`, block]))
  return { root: node.cid, blocks: [...distinct.values()], size: children.reduce((sum, { size }) => sum + size, 0) }
}

/** Makes a file of `count` random leaves. */
export function randomFile(count: number, size: number, seed: string): Dag {
  return fileOf(leaves(count, size, seed))
}

/** Makes a chain of `length` nodes. */
export function chain(length: number): Dag {
  let dag = leaf(Buffer.from('the end of a chain'))
  for (let level = 1; level < length; level++) dag = fileOf([dag])
  return dag
}

export function bytesIn(dag: Dag): number {
  return dag.blocks.reduce((sum, { bytes }) => sum + bytes.length, 0)
}

/** Returns the bytes that the DAG counts against a quota. */
export function chargeIn(dag: Dag): number {
  return dag.blocks.reduce((sum, { bytes }) => sum + Math.max(bytes.length, 512), 0)
}
