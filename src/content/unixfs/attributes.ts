import type { StoredAttributes } from '../../domain/file-attributes.ts'
import type { ProtobufReader } from '../../ipld/protobuf.ts'
import { varintBytes } from '../../ipld/varint.ts'

/** Attributes of a UnixFS 1.5 node, as its author stored them. */
export interface Attributes {
  /** Permissions, without the bits setuid, setgid and sticky. Missing if the node has none. */
  mode?: number
  /** Time of the last modification in ms since the epoch. Missing if the node has none, or one before 1970. */
  mtime?: number
}

/** Permissions that content may set. A set-user-ID bit of a stranger's file would be dangerous. */
const PERMISSIONS = 0o777
/** Maximum time that a `Date` holds, in seconds. */
const LATEST_SECONDS = 8.64e12

/** Returns the attribute `mode`. Kubo stores no mode as 0. */
export function modeOf(value: number): Attributes {
  return value === 0 || value > 0xffffffff ? {} : { mode: value & PERMISSIONS }
}

/**
 * Reads the attribute `mtime` from a message `UnixTime`. Returns nothing for an invalid time.
 *
 * @throws RangeError if the message is malformed
 */
export function mtimeOf(message: ProtobufReader): Attributes {
  let seconds = 0
  let nanoseconds = 0
  while (message.next()) {
    if (message.field === 1) seconds = message.value
    else if (message.field === 2) nanoseconds = fixed32(message.bytes())
  }
  // The number of a time before 1970 is beyond every date.
  if (seconds <= 0 || seconds >= LATEST_SECONDS || nanoseconds >= 1e9) return {}
  return { mtime: seconds * 1000 + Math.floor(nanoseconds / 1e6) }
}

/** Returns only the attributes of a node. */
export function attributesOf({ mode, mtime }: Attributes): Attributes {
  return { ...(mode !== undefined && { mode }), ...(mtime !== undefined && { mtime }) }
}

function fixed32(bytes: Uint8Array): number {
  return bytes.length === 4 ? Buffer.from(bytes).readUInt32LE() : Number.POSITIVE_INFINITY
}

/** Fields of a node without attributes. */
export const NO_ATTRIBUTES: Uint8Array = new Uint8Array()

const MODE = 0x38
const MTIME = 0x42
const SECONDS = 0x08
const NANOSECONDS = 0x15

/** Returns the fields `mode` and `mtime` as Kubo encodes them: the last fields of a UnixFS node, if it has any. */
export function attributeFields({ mode, mtime }: StoredAttributes): Uint8Array {
  const fields = mode === undefined ? [] : [MODE, ...varintBytes(mode)]
  if (mtime !== undefined) {
    const time = [SECONDS, ...int64(mtime.seconds)]
    if (mtime.nanoseconds > 0) {
      const bytes = Buffer.alloc(4)
      bytes.writeUInt32LE(mtime.nanoseconds)
      time.push(NANOSECONDS, ...bytes)
    }
    fields.push(MTIME, time.length, ...time)
  }
  return fields.length === 0 ? NO_ATTRIBUTES : Uint8Array.from(fields)
}

/** Encodes a number as a varint, and a negative one in two's complement of 64 bits. */
function int64(value: number): number[] {
  if (value >= 0) return [...varintBytes(value)]
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, BigInt(value))
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
  return [...bytes, Number(rest)]
}
