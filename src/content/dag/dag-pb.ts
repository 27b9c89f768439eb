import type { CID } from 'multiformats/cid'
import { textOfBytes } from '../../domain/byte-text.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { cidOfBytes } from '../../ipld/cid.ts'
import { ProtobufReader, WIRE } from '../../ipld/protobuf.ts'

/** Size in bytes of version, codec, hash code and length, each as a varint, without a digest. */
const SHORTEST_CID = 4

export interface PbNode {
  data: Uint8Array | null
  links: PbLinks
}

/**
 * Reads a DAG-PB block. Creates no objects for the links, because a block of 4 MiB can have hundreds of thousands. The
 * links refer to the memory of the block.
 *
 * @throws Error if the bytes are not DAG-PB. An invalid CID in a link throws only when the link is read.
 */
export function readPbNode(bytes: Uint8Array): PbNode {
  let data: Uint8Array | null = null
  let linksAreOver = false
  const stretches: number[] = []
  const reader = new ProtobufReader(bytes)
  const link = new ProtobufReader(bytes, 0, 0)
  while (reader.next()) {
    if (reader.wire !== WIRE.bytes) throw new Error('a field of a DAG-PB node is no bytes')
    if (reader.field === 1 && data === null) {
      data = bytes.subarray(reader.start, reader.end)
      linksAreOver = stretches.length > 0
    } else if (reader.field === 2 && !linksAreOver) {
      checkLink(link.over(reader.start, reader.end))
      stretches.push(reader.start, reader.end)
    } else throw new Error('a field of a DAG-PB node is repeated, out of place or unknown')
  }
  return { data, links: new PbLinks(bytes, Uint32Array.from(stretches)) }
}

/**
 * Checks that hash, name and size come in this order, each at most once. The hash is required, so that a block of
 * millions of empty links fails at its first link.
 */
function checkLink(reader: ProtobufReader): void {
  let last = 0
  let hashBytes = 0
  while (reader.next()) {
    if (reader.field <= last || reader.field > 3) throw new Error('a field of a DAG-PB link is out of place or unknown')
    if (reader.wire !== (reader.field === 3 ? WIRE.number : WIRE.bytes))
      throw new Error('a field of a DAG-PB link has no sense')
    if (reader.field === 1) hashBytes = reader.end - reader.start
    last = reader.field
  }
  if (hashBytes < SHORTEST_CID) throw new Error('a DAG-PB link has no CID')
}

class PbLinks {
  readonly #bytes: Uint8Array
  readonly #stretches: Uint32Array
  readonly #reader: ProtobufReader

  /** @param stretches start and end offset of each link in `bytes` */
  constructor(bytes: Uint8Array, stretches: Uint32Array) {
    this.#bytes = bytes
    this.#stretches = stretches
    this.#reader = new ProtobufReader(bytes, 0, 0)
  }

  get length(): number {
    return this.#stretches.length / 2
  }

  cid(index: number): CID {
    return cidOfBytes(this.#bytesOf(index, 1))
  }

  nameBytes(index: number): Uint8Array {
    return this.#bytesOf(index, 2)
  }

  /** Returns the size in bytes that the link claims for the DAG below it, or 0. */
  size(index: number): number {
    return this.#seek(index, 3) ? this.#reader.value : 0
  }

  #bytesOf(index: number, field: number): Uint8Array {
    return this.#seek(index, field) ? this.#reader.bytes() : EMPTY
  }

  #seek(index: number, field: number): boolean {
    const reader = this.#reader.over(this.#stretches[index * 2] ?? 0, this.#stretches[index * 2 + 1] ?? 0)
    while (reader.next()) if (reader.field === field) return true
    return false
  }
}

export interface DirectoryLink {
  /** Text form. */
  name: string
  cid: CID
  /** Size in bytes that the link claims for the DAG below it. */
  dagSize: number
}

/**
 * The links of a node. Creates each link object on request, because a block can have hundreds of thousands of links.
 */
export class NodeLinks {
  readonly #owner: CID
  readonly #links: PbLinks | null

  constructor(owner: CID, links: PbLinks | null) {
    this.#owner = owner
    this.#links = links
  }

  get length(): number {
    return this.#links?.length ?? 0
  }

  /**
   * Returns the text form of a name, or an empty text if the link has none.
   *
   * @param prefix bytes to leave out: in a shard, a name starts with the index of its bucket in hexadecimal
   */
  name(index: number, prefix = 0): string {
    return textOfBytes(this.nameBytes(index).subarray(prefix))
  }

  nameBytes(index: number): Uint8Array {
    return this.#links?.nameBytes(index) ?? EMPTY
  }

  /** @throws HoldfastError `INVALID_CID` if the link has no valid CID */
  cid(index: number): CID {
    try {
      if (this.#links !== null) return this.#links.cid(index)
    } catch {
      // A missing link and an invalid CID get the same error below.
    }
    throw malformedDagPb(this.#owner, 'a link is no CID')
  }

  at(index: number, prefix = 0): DirectoryLink {
    return { name: this.name(index, prefix), cid: this.cid(index), dagSize: this.#links?.size(index) ?? 0 }
  }

  *[Symbol.iterator](): Generator<DirectoryLink, void, undefined> {
    for (let index = 0; index < this.length; index++) yield this.at(index)
  }
}

/** @throws HoldfastError `INVALID_CID` if the bytes are not DAG-PB */
export function parsePbNode(cid: CID, bytes: Uint8Array): PbNode {
  try {
    return readPbNode(bytes)
  } catch {
    throw malformedDagPb(cid, 'it is not dag-pb')
  }
}

export function malformedDagPb(cid: CID, reason: string): HoldfastError {
  return new HoldfastError('INVALID_CID', `${cid} is not well-formed: ${reason}`)
}

const EMPTY = new Uint8Array()
