import { ProtobufReader } from '../../ipld/protobuf.ts'
import { FieldWriter } from './field-writer.ts'

/** Entry of a want list, which requests a block or cancels a request. */
export interface Want {
  cid: Uint8Array
  cancel: boolean
  /** True to ask whether the peer has the block, without requesting the bytes. */
  presence: boolean
  /** True to request an answer even if the peer lacks the block. */
  sendDontHave: boolean
}

export interface SentBlock {
  /** The CID without the digest: version, codec, hash function and digest length. */
  prefix: Uint8Array
  data: Uint8Array
}

export interface Presence {
  cid: Uint8Array
  has: boolean
}

export interface ExchangeMessage {
  /** True if the wants in this message replace all earlier wants. */
  full: boolean
  wants: Want[]
  blocks: SentBlock[]
  presences: Presence[]
}

const MESSAGE = { wantlist: 1, blocks: 3, presences: 4 } as const
const WANTLIST = { entries: 1, full: 2 } as const
const ENTRY = { cid: 1, priority: 2, cancel: 3, type: 4, sendDontHave: 5 } as const
const BLOCK = { prefix: 1, data: 2 } as const
const PRESENCE = { cid: 1, type: 2 } as const

export function emptyMessage(): ExchangeMessage {
  return { full: false, wants: [], blocks: [], presences: [] }
}

/** Encodes a message with its length prefix. Large blocks are not copied. */
export function encodeMessage(message: ExchangeMessage): Uint8Array[] {
  const body = new FieldWriter()
  const wantlist = new FieldWriter()
  for (const want of message.wants) {
    const entry = new FieldWriter()
    entry.bytes(ENTRY.cid, want.cid)
    entry.number(ENTRY.priority, 1)
    if (want.cancel) entry.number(ENTRY.cancel, 1)
    if (want.presence) entry.number(ENTRY.type, 1)
    if (want.sendDontHave) entry.number(ENTRY.sendDontHave, 1)
    wantlist.message(WANTLIST.entries, entry)
  }
  if (message.full) wantlist.number(WANTLIST.full, 1)
  if (wantlist.length > 0) body.message(MESSAGE.wantlist, wantlist)
  for (const sent of message.blocks) {
    const block = new FieldWriter()
    block.bytes(BLOCK.prefix, sent.prefix)
    block.bytes(BLOCK.data, sent.data)
    body.message(MESSAGE.blocks, block)
  }
  for (const entry of message.presences) {
    const presence = new FieldWriter()
    presence.bytes(PRESENCE.cid, entry.cid)
    presence.number(PRESENCE.type, entry.has ? 0 : 1)
    body.message(MESSAGE.presences, presence)
  }
  return body.framed()
}

/** Maximum number of entries to decode, by kind. Further entries are ignored. */
export interface MessageLimits {
  wants: number
  blocks: number
  presences: number
}

export interface ReceivedMessage extends ExchangeMessage {
  hasSurplusBlocks: boolean
  fields: number
}

/** Fields that a message may have in addition to the fields of its permitted entries. */
const SPARE_FIELDS = 4_096
const FIELDS_PER_WANT = 6
/** This node never requests a longer CID. */
const LONGEST_CID = 128

/**
 * Blocks are views of `bytes`. Other values are copies, because a view would keep the whole message in memory.
 * @throws RangeError if the message is malformed or has far more fields than its limits need
 */
export function decodeMessage(bytes: Uint8Array, limits: MessageLimits): ReceivedMessage {
  const most = limits.wants * FIELDS_PER_WANT + (limits.blocks + limits.presences) * 3 + SPARE_FIELDS
  const budget = { left: most }
  const message = { ...emptyMessage(), hasSurplusBlocks: false, fields: 0 }
  const reader = new ProtobufReader(bytes, 0, bytes.length, budget)
  while (reader.next()) {
    if (reader.field === MESSAGE.wantlist) {
      readWantlist(reader.message(), message, limits.wants)
    } else if (reader.field === MESSAGE.blocks) {
      message.hasSurplusBlocks = message.blocks.length >= limits.blocks
      // Ignore the rest of the message, because its sender misbehaves.
      if (message.hasSurplusBlocks) break
      message.blocks.push(readBlock(reader.message()))
    } else if (reader.field === MESSAGE.presences) {
      if (message.presences.length >= limits.presences) break
      message.presences.push(readPresence(reader.message()))
    }
  }
  message.fields = most - budget.left
  return message
}

function readWantlist(reader: ProtobufReader, message: ExchangeMessage, most: number): void {
  while (reader.next()) {
    if (reader.field === WANTLIST.full) message.full = reader.value !== 0
    if (reader.field !== WANTLIST.entries) continue
    if (message.wants.length >= most) return
    message.wants.push(readWant(reader.message()))
  }
}

function readWant(reader: ProtobufReader): Want {
  const want: Want = { cid: new Uint8Array(), cancel: false, presence: false, sendDontHave: false }
  while (reader.next()) {
    if (reader.field === ENTRY.cid) want.cid = cidBytes(reader)
    else if (reader.field === ENTRY.cancel) want.cancel = reader.value !== 0
    else if (reader.field === ENTRY.type) want.presence = reader.value === 1
    else if (reader.field === ENTRY.sendDontHave) want.sendDontHave = reader.value !== 0
  }
  return want
}

function readBlock(reader: ProtobufReader): SentBlock {
  const block: SentBlock = { prefix: new Uint8Array(), data: new Uint8Array() }
  while (reader.next()) {
    if (reader.field === BLOCK.prefix) block.prefix = reader.bytes()
    else if (reader.field === BLOCK.data) block.data = reader.bytes()
  }
  return block
}

function readPresence(reader: ProtobufReader): Presence {
  const presence: Presence = { cid: new Uint8Array(), has: true }
  while (reader.next()) {
    if (reader.field === PRESENCE.cid) presence.cid = cidBytes(reader)
    else if (reader.field === PRESENCE.type) presence.has = reader.value === 0
  }
  return presence
}

function cidBytes(reader: ProtobufReader): Uint8Array {
  const bytes = reader.bytes()
  if (bytes.length > LONGEST_CID) throw new RangeError('a CID is too long')
  return Uint8Array.from(bytes)
}
