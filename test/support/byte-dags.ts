import { murmur364 } from '@multiformats/murmur3'
import { UnixFS } from 'ipfs-unixfs'
import { CID } from 'multiformats/cid'
import { sha256 } from 'multiformats/hashes/sha2'
import { varintBytes } from '../../src/ipld/varint.ts'

export type Block = readonly [CID, Uint8Array]

/** A link whose name is any bytes, which `@ipld/dag-pb` does not write. */
export interface ByteLink {
  name: Uint8Array
  cid: CID
}

/** Makes bytes of Latin-1 text. */
export function latin(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text, 'latin1'))
}

export function utf8(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text))
}

/** Encodes a directory. */
export function byteDirectory(links: readonly ByteLink[]): Promise<Block> {
  return node(links, new UnixFS({ type: 'directory' }).marshal())
}

/** Encodes a sharded directory. The last block is the root. */
export async function byteShards(links: readonly ByteLink[]): Promise<Block[]> {
  const hashed = links.map(link => ({ link, hash: murmur364.encode(link.name) as Uint8Array }))
  const shard = async (members: typeof hashed, level: number): Promise<Block[]> => {
    const slots = new Map<number, typeof hashed>()
    for (const member of members) {
      const slot = member.hash[level] ?? 0
      slots.set(slot, [...(slots.get(slot) ?? []), member])
    }
    const blocks: Block[] = []
    const own: ByteLink[] = []
    const bits = Buffer.alloc(32)
    for (const [slot, inside] of slots) {
      bits[31 - (slot >> 3)] = (bits[31 - (slot >> 3)] ?? 0) | (1 << (slot & 7))
      const prefix = slot.toString(16).toUpperCase().padStart(2, '0')
      const [only] = inside
      if (inside.length === 1 && only !== undefined) {
        own.push({ name: Buffer.concat([utf8(prefix), only.link.name]), cid: only.link.cid })
        continue
      }
      const below = await shard(inside, level + 1)
      blocks.push(...below)
      const cid = below.at(-1)?.[0]
      if (cid !== undefined) own.push({ name: utf8(prefix), cid })
    }
    const data = new UnixFS({
      type: 'hamt-sharded-directory',
      data: bits.subarray(bits.findIndex(byte => byte !== 0)),
      fanout: 256n,
      hashType: 0x22n,
    })
    return [...blocks, await node(own, data.marshal())]
  }
  return shard(hashed, 0)
}

async function node(links: readonly ByteLink[], data: Uint8Array): Promise<Block> {
  const sorted = [...links].sort((a, b) => Buffer.compare(a.name, b.name))
  const parts = sorted.map(({ name, cid }) =>
    field(2, [field(1, [cid.bytes]), field(2, [name]), Uint8Array.of(0x18, 1)]),
  )
  const bytes = Uint8Array.from(Buffer.concat([...parts, field(1, [data])]))
  return [CID.createV1(0x70, await sha256.digest(bytes)), bytes]
}

function field(number: number, parts: readonly Uint8Array[]): Uint8Array {
  const value = Buffer.concat(parts)
  return Buffer.concat([Uint8Array.of(number * 8 + 2), varintBytes(value.length), value])
}
