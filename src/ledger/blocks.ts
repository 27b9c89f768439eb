/** The backend of the engine's own data directory. */
export const DEFAULT_BACKEND_ID = 0

/** A block that is small enough to live in the database. */
export interface NewBlock {
  multihash: Uint8Array
  bytes: Uint8Array
}

export type BlockState = 'writing' | 'durable' | 'deleting'

export interface BlockRow {
  id: number
  /** Bytes. */
  size: number
  state: BlockState
  /** 1 if the bytes are a row of the database, 0 if they are a file. */
  inline: 0 | 1
}

/** A block that is held for someone: where it is, and until when. */
export interface HeldBlock extends BlockRow {
  backendId: number
  rootId: number
  /** When the root's last record expires, in milliseconds since the epoch; null for never. */
  liveUntil: number | null
}

/** A block with what it is known by. */
export interface StoredBlock extends BlockRow {
  backendId: number
  multihash: Uint8Array
}

/** What the node has of blocks, to be looked up: reads of one row or of a batch, answered at once. */
export interface Blocks {
  find(backendId: number, multihash: Uint8Array): BlockRow | undefined
  get(blockId: number): BlockRow | undefined
  /** The bytes of an inline block. */
  bytes(blockId: number): Uint8Array | undefined
  /**
   * The next durable blocks by id, to go through all of them; those that were found lost, which complete roots need and
   * are `writing`, among them.
   */
  durableAfter(id: number, limit: number): StoredBlock[]
  /** What is broken while this block is: the next complete roots by id, at most `limit`. */
  completeRootsOf(
    blockId: number,
    after: number,
    limit: number,
  ): Array<{ id: number; codec: number; multihash: Uint8Array }>
}
