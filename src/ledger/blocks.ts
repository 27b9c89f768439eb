/** Number of the backend that is the engine's own data directory. */
export const DEFAULT_BACKEND_ID = 0

/** A block that is small enough for the database. */
export interface NewBlock {
  multihash: Uint8Array
  bytes: Uint8Array
}

export type BlockState = 'writing' | 'durable' | 'deleting'

export interface BlockRow {
  id: number
  /** In bytes. */
  size: number
  state: BlockState
  /** 1 if the bytes are in the database, 0 if they are in a file. */
  inline: 0 | 1
}

/** A block that a live root needs. */
export interface HeldBlock extends BlockRow {
  backendId: number
  rootId: number
  /** The latest end of the root's holds, in milliseconds since the epoch; null for no end. */
  liveUntil: number | null
}

/** A block with its identity. */
export interface StoredBlock extends BlockRow {
  backendId: number
  multihash: Uint8Array
}

/** Lookups of blocks on this node. Each is synchronous and reads one row or one batch. */
export interface Blocks {
  find(backendId: number, multihash: Uint8Array): BlockRow | undefined
  get(blockId: number): BlockRow | undefined
  /** Returns the bytes of an inline block. */
  bytes(blockId: number): Uint8Array | undefined
  /** Returns the next blocks by id that are durable. Includes lost blocks (`writing`) that complete roots need. */
  durableAfter(id: number, limit: number): StoredBlock[]
  /** Returns the next complete roots by id that need the block, at most `limit`. A damaged block breaks them. */
  completeRootsOf(
    blockId: number,
    after: number,
    limit: number,
  ): Array<{ id: number; codec: number; multihash: Uint8Array }>
}
