import { varintBytes } from '../../ipld/varint.ts'

/** A link of a new node. */
export interface NewLink {
  /** May be no UTF-8, so `@ipld/dag-pb` cannot encode it. */
  name: Uint8Array
  /** Bytes of the CID. */
  cid: Uint8Array
  /** Total size in bytes of all blocks below, including repeated blocks. */
  tsize: number
}

const LINK = 0x12
const DATA = 0x0a
const HASH = 0x0a
const NAME = 0x12
const TSIZE = 0x18

/** Encodes a DAG-PB node. Its links are sorted by their names, as the specification requires. */
export function pbNodeBytes(data: Uint8Array, links: readonly NewLink[]): Uint8Array {
  const sorted = links.toSorted((a, b) => Buffer.compare(a.name, b.name))
  return Buffer.concat([...sorted.flatMap(link => field(LINK, linkBytes(link))), ...field(DATA, data)])
}

function linkBytes({ name, cid, tsize }: NewLink): Uint8Array {
  return Buffer.concat([...field(HASH, cid), ...field(NAME, name), Uint8Array.of(TSIZE), varintBytes(tsize)])
}

function field(key: number, bytes: Uint8Array): Uint8Array[] {
  return [Uint8Array.of(key), varintBytes(bytes.length), bytes]
}
