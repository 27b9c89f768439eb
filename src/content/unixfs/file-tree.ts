import * as dagPb from '@ipld/dag-pb'
import { varint } from 'multiformats'
import { CID } from 'multiformats/cid'
import { CODEC } from '../../ipld/cid.ts'
import type { StagedDag } from '../dag/staged-dag.ts'
import { NO_ATTRIBUTES } from './attributes.ts'

/** A stored part of a file: a chunk, or a node whose children are parts. */
export interface FilePart {
  cid: CID
  /** Content size in bytes. */
  size: number
  tsize: number
}

/** Maximum number of children of one node, as in the profile `unixfs-v1-2025` (IPIP-499). */
const WIDTH = 1_024

/**
 * Builds the nodes above the chunks of one file: a balanced tree, stored from the bottom as the chunks arrive. Encodes
 * the sizes itself, because the reference encoder of UnixFS encodes sizes from 2 GiB to 4 GiB incorrectly.
 */
export class FileTree {
  readonly #staged: StagedDag
  /** The parts that have no parent yet, by level. The first level has the chunks. */
  readonly #levels: FilePart[][] = []

  constructor(staged: StagedDag) {
    this.#staged = staged
  }

  add(chunk: FilePart): Promise<void> {
    return this.#add(chunk, 0)
  }

  /**
   * Returns the root, which is the chunk if there is only one.
   *
   * @param attributes fields of {@link attributeFields}, for the root of several chunks
   */
  async root(attributes = NO_ATTRIBUTES): Promise<FilePart> {
    for (let level = 0; ; level++) {
      const parts = this.#levels[level] ?? []
      const [only] = parts
      const isTop = level + 1 >= this.#levels.length
      if (only !== undefined && parts.length === 1 && isTop) return only
      await this.#add(await this.#store(parts, isTop ? attributes : NO_ATTRIBUTES), level + 1)
    }
  }

  async #add(part: FilePart, level: number): Promise<void> {
    const parts = this.#levels[level]
    if (parts === undefined) this.#levels[level] = [part]
    else if (parts.length < WIDTH) parts.push(part)
    else {
      this.#levels[level] = [part]
      await this.#add(await this.#store(parts, NO_ATTRIBUTES), level + 1)
    }
  }

  async #store(parts: readonly FilePart[], attributes: Uint8Array): Promise<FilePart> {
    const links = parts.map(({ cid, tsize }) => ({ Name: '', Hash: cid, Tsize: tsize }))
    const data = Buffer.concat([fileData(parts.map(part => part.size)), attributes])
    const bytes = dagPb.encode(dagPb.prepare({ Data: data, Links: links }))
    const cid = CID.createV1(CODEC.dagPb, await this.#staged.store.hash(bytes))
    await this.#staged.put(cid, bytes)
    return {
      cid,
      size: parts.reduce((sum, part) => sum + part.size, 0),
      tsize: parts.reduce((sum, part) => sum + part.tsize, bytes.length),
    }
  }
}

const FILE = Uint8Array.of(0x08, 2)
const CONTENT = 0x12
const FILE_SIZE = 0x18
const BLOCK_SIZE = 0x20

/**
 * Encodes the UnixFS data of a file.
 * @param sizes bytes of content below each link
 */
export function fileData(sizes: readonly number[]): Uint8Array {
  const whole = sizes.reduce((sum, size) => sum + size, 0)
  return Buffer.concat([FILE, number(FILE_SIZE, whole), ...sizes.map(size => number(BLOCK_SIZE, size))])
}

/** Stores a file, or a part of it, as one DAG-PB block. */
export async function storeWrapped(
  staged: StagedDag,
  content: Uint8Array,
  attributes = NO_ATTRIBUTES,
): Promise<FilePart> {
  const size = content.length
  const inline = size === 0 ? [] : [number(CONTENT, size), content]
  const data = Buffer.concat([FILE, ...inline, number(FILE_SIZE, size), attributes])
  const bytes = dagPb.encode({ Data: data, Links: [] })
  const cid = CID.createV1(CODEC.dagPb, await staged.store.hash(bytes))
  await staged.put(cid, bytes)
  return { cid, size, tsize: bytes.length }
}

function number(key: number, value: number): Uint8Array {
  const bytes = new Uint8Array(1 + varint.encodingLength(value))
  bytes[0] = key
  return varint.encodeTo(value, bytes, 1)
}
