import * as dagPb from '@ipld/dag-pb'
import { varint } from 'multiformats'
import { CID } from 'multiformats/cid'
import { CODEC } from '../../domain/cid.ts'
import type { StagedDag } from '../dag/staged-dag.ts'

/** A part of a file that has been stored: a chunk, or a node above others. */
export interface FilePart {
  cid: CID
  /** Content bytes. */
  size: number
  /** What a link to it says in its Tsize: the bytes of all blocks below, repeated ones counted each time. */
  tsize: number
}

/** Children of one node, as the profile `unixfs-v1-2025` (IPIP-499) has them. */
const WIDTH = 1_024

/**
 * The nodes above the chunks of one file: a balanced tree that is stored from below as the chunks come. Sizes are
 * encoded here, because the reference encoder of UnixFS writes those from 2 GiB to 4 GiB wrong.
 */
export class FileTree {
  readonly #staged: StagedDag
  /** The parts that have no parent yet, the chunks first. */
  readonly #levels: FilePart[][] = []

  constructor(staged: StagedDag) {
    this.#staged = staged
  }

  /** Takes the next chunk. */
  add(chunk: FilePart): Promise<void> {
    return this.#add(chunk, 0)
  }

  /** Stores what has no parent yet. Returns the root, which for a file of one chunk is the chunk. */
  async root(): Promise<FilePart> {
    for (let level = 0; ; level++) {
      const parts = this.#levels[level] ?? []
      const [only] = parts
      if (only !== undefined && parts.length === 1 && level + 1 >= this.#levels.length) return only
      await this.#add(await this.#store(parts), level + 1)
    }
  }

  async #add(part: FilePart, level: number): Promise<void> {
    const parts = this.#levels[level]
    if (parts === undefined) this.#levels[level] = [part]
    else if (parts.length < WIDTH) parts.push(part)
    else {
      this.#levels[level] = [part]
      await this.#add(await this.#store(parts), level + 1)
    }
  }

  async #store(parts: readonly FilePart[]): Promise<FilePart> {
    const links = parts.map(({ cid, tsize }) => ({ Name: '', Hash: cid, Tsize: tsize }))
    const bytes = dagPb.encode(dagPb.prepare({ Data: fileData(parts.map(part => part.size)), Links: links }))
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
const FILE_SIZE = 0x18
const BLOCK_SIZE = 0x20

/** The UnixFS data of a file's node, given the content bytes below each of its links. */
export function fileData(sizes: readonly number[]): Uint8Array {
  const whole = sizes.reduce((sum, size) => sum + size, 0)
  return Buffer.concat([FILE, number(FILE_SIZE, whole), ...sizes.map(size => number(BLOCK_SIZE, size))])
}

function number(key: number, value: number): Uint8Array {
  const bytes = new Uint8Array(1 + varint.encodingLength(value))
  bytes[0] = key
  return varint.encodeTo(value, bytes, 1)
}
