import { CarWriter } from '@ipld/car'
import * as dagCbor from '@ipld/dag-cbor'
import { varint } from 'multiformats'
import type { CID } from 'multiformats/cid'
import type { Engine } from '../../../../src/index.ts'
import { collect, pieces } from '../../../support/bytes.ts'

export interface Block {
  cid: CID
  bytes: Uint8Array
}

/** Returns a CAR of version 1 from the reference writer. */
export async function carOf(roots: readonly CID[], blocks: Iterable<Block>): Promise<Buffer> {
  const { writer, out } = CarWriter.create([...roots])
  const written = collect(out)
  for (const block of blocks) await writer.put(block)
  await writer.close()
  return written
}

/** Wraps a CAR of version 1 in version 2, with padding before it and a fake index after it. */
export function version2(inner: Uint8Array, options: { padding?: number; index?: Uint8Array } = {}): Buffer {
  const { padding = 7, index = Buffer.from('an index of some kind') } = options
  const pragma = sectionOf(dagCbor.encode({ version: 2 }))
  const header = Buffer.alloc(40)
  const start = pragma.length + header.length + padding
  header.writeBigUInt64LE(BigInt(start), 16)
  header.writeBigUInt64LE(BigInt(inner.length), 24)
  header.writeBigUInt64LE(BigInt(start + inner.length), 32)
  return Buffer.concat([pragma, header, Buffer.alloc(padding), inner, index])
}

/** Returns any header, encoded as the start of a CAR. */
export function headerOf(value: unknown): Buffer {
  return sectionOf(dagCbor.encode(value))
}

/** Returns bytes after their length. */
export function sectionOf(...parts: readonly Uint8Array[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  return Buffer.concat([varint.encodeTo(length, new Uint8Array(varint.encodingLength(length))), ...parts])
}

/** Yields bytes in pieces of one length. */
export async function* streamOf(bytes: Uint8Array, pieceLength = 16_384): AsyncGenerator<Uint8Array> {
  yield* pieces(bytes, Array(Math.ceil(bytes.length / pieceLength)).fill(pieceLength))
}

/** Returns the CAR of a content, from the engine's gateway. */
export async function exported(engine: Engine, cid: string, query = 'format=car'): Promise<Buffer> {
  const { status, body } = await engine.gateway({
    method: 'GET',
    path: `/ipfs/${cid}`,
    query,
    header: () => undefined,
    body: (async function* () {})(),
    signal: new AbortController().signal,
    remoteAddress: '127.0.0.1',
  })
  if (status !== 200 || body === null || typeof body === 'string' || body instanceof Uint8Array) {
    throw new Error(`no CAR of ${cid}: ${status}`)
  }
  return collect(body)
}
