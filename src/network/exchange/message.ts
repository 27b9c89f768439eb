import { FieldReader, FieldWriter } from './protobuf.ts'

/** One line of a want list: what a peer asks for, or no longer asks for. */
export interface Want {
  cid: Uint8Array
  cancel: boolean
  /** Asks only whether the block is there. */
  presence: boolean
  /** Asks to be told if it is not. */
  sendDontHave: boolean
}

export interface SentBlock {
  /** The CID up to and without its digest: version, codec, hash, digest length. */
  prefix: Uint8Array
  data: Uint8Array
}

export interface Presence {
  cid: Uint8Array
  has: boolean
}

/** A message of the Bitswap protocol, version 1.2.0. */
export interface ExchangeMessage {
  /** The wants replace all earlier ones. */
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

/** The message behind its length, as it goes onto a stream; large blocks are passed on without a copy. */
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
  for (const told of message.presences) {
    const presence = new FieldWriter()
    presence.bytes(PRESENCE.cid, told.cid)
    presence.number(PRESENCE.type, told.has ? 0 : 1)
    body.message(MESSAGE.presences, presence)
  }
  return body.framed()
}

/**
 * Reads a message; the bytes in it are views of those given.
 *
 * @throws RangeError if it is not one.
 */
export function decodeMessage(bytes: Uint8Array): ExchangeMessage {
  const message = emptyMessage()
  for (const field of new FieldReader(bytes)) {
    if (field.number === MESSAGE.wantlist) readWantlist(field.bytes(), message)
    else if (field.number === MESSAGE.blocks) message.blocks.push(readBlock(field.bytes()))
    else if (field.number === MESSAGE.presences) message.presences.push(readPresence(field.bytes()))
  }
  return message
}

function readWantlist(bytes: Uint8Array, message: ExchangeMessage): void {
  for (const field of new FieldReader(bytes)) {
    if (field.number === WANTLIST.entries) message.wants.push(readWant(field.bytes()))
    else if (field.number === WANTLIST.full) message.full = field.value !== 0
  }
}

function readWant(bytes: Uint8Array): Want {
  const want: Want = { cid: new Uint8Array(), cancel: false, presence: false, sendDontHave: false }
  for (const field of new FieldReader(bytes)) {
    if (field.number === ENTRY.cid) want.cid = field.bytes()
    else if (field.number === ENTRY.cancel) want.cancel = field.value !== 0
    else if (field.number === ENTRY.type) want.presence = field.value === 1
    else if (field.number === ENTRY.sendDontHave) want.sendDontHave = field.value !== 0
  }
  return want
}

function readBlock(bytes: Uint8Array): SentBlock {
  const block: SentBlock = { prefix: new Uint8Array(), data: new Uint8Array() }
  for (const field of new FieldReader(bytes)) {
    if (field.number === BLOCK.prefix) block.prefix = field.bytes()
    else if (field.number === BLOCK.data) block.data = field.bytes()
  }
  return block
}

function readPresence(bytes: Uint8Array): Presence {
  const presence: Presence = { cid: new Uint8Array(), has: true }
  for (const field of new FieldReader(bytes)) {
    if (field.number === PRESENCE.cid) presence.cid = field.bytes()
    else if (field.number === PRESENCE.type) presence.has = field.value === 0
  }
  return presence
}
