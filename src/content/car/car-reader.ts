import type { CID } from 'multiformats/cid'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import { firstCid } from '../../ipld/cid.ts'
import { readVarint } from '../../ipld/varint.ts'
import { BlockMemory } from '../block-memory.ts'
import { ByteReader } from '../byte-reader.ts'
import { cborTokens } from '../dag/cbor-tokens.ts'
import { cidOfLink, type DocumentToken } from '../dag/document-token.ts'

/** Maximum size of one block in bytes. Peers do not exchange larger blocks. */
export const LARGEST_CAR_BLOCK = 4 * 1024 ** 2
const LONGEST_CID = 1_024
const LONGEST_HEADER = 256 * 1024
/** Maximum size in bytes of a length. A longer varint encodes a length above every other limit. */
const LONGEST_LENGTH = 5
const V2_HEADER_BYTES = 40

/** A block of a CAR. Its hash has not been checked. */
export interface CarBlock {
  cid: CID
  bytes: Uint8Array
}

/** CAR that is being read. */
export interface Car {
  /** Roots in the header, including duplicates. */
  roots: CID[]
  /** Blocks in the order of the file, including duplicates. Each block is read when the consumer requests it. */
  blocks: AsyncGenerator<CarBlock, void, undefined>
  /** Returns the number of bytes read from the source so far, which is the offset of the next block. */
  position: () => number
}

/**
 * Reads a CAR of version 1, or the version 1 payload of version 2. Holds one block in memory at a time. The caller
 * closes the source.
 *
 * @throws HoldfastError `VALIDATION`, also while iterating, if the CAR is malformed, damaged or truncated, or has a
 * block that is too large
 * @example for await (const { cid } of (await readCar(createReadStream('photos.car'))).blocks) console.log(cid)
 */
export function readCar(source: AsyncIterable<Uint8Array>): Promise<Car> {
  return readCarInto(source, new BlockMemory())
}

/**
 * Reads a CAR like {@link readCar}.
 *
 * @param memory allocates each block; the consumer of a block releases its memory
 */
export async function readCarInto(source: AsyncIterable<Uint8Array>, memory: BlockMemory): Promise<Car> {
  const reader = new ByteReader(source)
  const position = (): number => reader.position
  const first = await readHeader(reader)
  if (first.version === 1) return { roots: rootsOf(first), blocks: readBlocks(reader, memory, null), position }
  if (first.version !== 2) throw malformed('its header is not that of version 1 or 2')
  const end = await enterPayload(reader)
  const inner = await readHeader(reader)
  if (inner.version !== 1) throw malformed('its payload is not of version 1')
  return { roots: rootsOf(inner), blocks: readBlocks(reader, memory, end), position }
}

interface Header {
  version: unknown
  /** Null if the header has no `roots` field. */
  roots: CID[] | null
}

async function readHeader(reader: ByteReader): Promise<Header> {
  const length = await readLength(reader)
  if (length === null) throw malformed('it is empty')
  if (length === 0 || length > LONGEST_HEADER) throw malformed('it does not begin with a header')
  const bytes = await reader.take(length)
  if (bytes === null) throw malformed('it ends within its header')
  try {
    return headerOf(bytes)
  } catch (cause) {
    throw isHoldfastError(cause) ? cause : malformed('its header is not readable', cause)
  }
}

function headerOf(bytes: Uint8Array): Header {
  const header: Header = { version: undefined, roots: null }
  let field = ''
  let depth = 0
  for (const token of cborTokens(bytes)) {
    if (token.kind === 'close') depth--
    else if (token.kind === 'key' && depth === 1) field = token.name
    else if (token.kind === 'value' && depth === 1 && field === 'version') header.version = token.value
    else if (header.roots !== null && depth === 2 && field === 'roots') header.roots.push(rootOf(token))
    if (token.kind !== 'open') continue
    depth++
    if (depth === 2 && field === 'roots' && !token.isMap) header.roots = []
  }
  if (depth !== 0 || field === '') throw malformed('its header is not readable')
  return header
}

function rootOf(token: DocumentToken): CID {
  try {
    if (token.kind === 'link') return cidOfLink(token)
  } catch {
    // A value that is not a valid link gets the error below.
  }
  throw malformed('its header names roots that are no CIDs')
}

function rootsOf({ roots }: Header): CID[] {
  if (roots === null) throw malformed('its header names no roots')
  return roots
}

/** Skips to the start of the version 1 payload in a CAR of version 2. Returns the offset of the payload's end. */
async function enterPayload(reader: ByteReader): Promise<number> {
  const header = await reader.take(V2_HEADER_BYTES)
  if (header === null) throw malformed('it ends within its header')
  // 16 bytes of characteristics come first, then the payload's offset and length, then the index's offset.
  const view = new DataView(header.buffer, header.byteOffset, header.byteLength)
  const start = Number(view.getBigUint64(16, true))
  const length = Number(view.getBigUint64(24, true))
  if (start < reader.position || length === 0 || !Number.isSafeInteger(start + length)) {
    throw malformed('its header is not readable')
  }
  if (!(await reader.skipTo(start))) throw malformed('it ends before its blocks begin')
  return start + length
}

/** @param end offset after the last block; null if the blocks extend to the end of the source */
async function* readBlocks(
  reader: ByteReader,
  memory: BlockMemory,
  end: number | null,
): AsyncGenerator<CarBlock, void, undefined> {
  while (end === null || reader.position < end) {
    const length = await readLength(reader)
    if (length === null) {
      if (end === null) return
      throw malformed('it ends before its last block')
    }
    if (length > LARGEST_CAR_BLOCK + LONGEST_CID) throw tooLarge()
    const block = await readBlock(reader, length, memory)
    if (end !== null && reader.position > end) {
      memory.release(block.bytes)
      throw malformed('its last block is longer than what is left for it')
    }
    yield block
  }
  await reader.skipTo(Number.POSITIVE_INFINITY)
}

async function readBlock(reader: ByteReader, length: number, memory: BlockMemory): Promise<CarBlock> {
  const head = await reader.take(Math.min(length, LONGEST_CID))
  if (head === null) throw malformed('it ends within a block')
  const [cid, first] = splitHead(head)
  const size = first.length + length - head.length
  if (size > LARGEST_CAR_BLOCK) throw tooLarge()
  const filled = memory.take(size)
  try {
    filled.set(first)
    if (!(await reader.fill(filled.subarray(first.length)))) throw malformed('it ends within a block')
    return { cid, bytes: await memory.settle(filled) }
  } catch (error) {
    memory.release(filled)
    throw error
  }
}

function splitHead(head: Uint8Array): [cid: CID, rest: Uint8Array] {
  try {
    return firstCid(head)
  } catch (cause) {
    throw malformed('a block does not begin with a CID', cause)
  }
}

/** Returns null at the end of the source. */
async function readLength(reader: ByteReader): Promise<number | null> {
  const groups: number[] = []
  while (groups.length < LONGEST_LENGTH) {
    const byte = await reader.byte()
    if (byte === null) {
      if (groups.length === 0) return null
      throw malformed('it ends within a length')
    }
    groups.push(byte)
    const length = byte < 0x80 ? readVarint(Uint8Array.from(groups), 0) : null
    if (length !== null) return length.value
  }
  throw malformed('a length in it is too large')
}

function tooLarge(): HoldfastError {
  return new HoldfastError('VALIDATION', `a block of the CAR has more than ${LARGEST_CAR_BLOCK} bytes`)
}

function malformed(problem: string, cause?: unknown): HoldfastError {
  return new HoldfastError('VALIDATION', `the CAR cannot be read: ${problem}`, { cause })
}
