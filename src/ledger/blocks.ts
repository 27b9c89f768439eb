/** Number of the backend whose blocks are in the engine's own data directory. */
export const DEFAULT_BACKEND_ID = 0

/** A block that is small enough to be stored in the database. */
export interface NewBlock {
  multihash: Uint8Array
  bytes: Uint8Array
}

export type BlockState = 'writing' | 'durable' | 'deleting'

export interface BlockRow {
  id: number
  /** Size of the block in bytes. */
  size: number
  state: BlockState
  /** 1 if the bytes are in the database; 0 if they are in a file. */
  inline: 0 | 1
}

/** A block that a live root needs. */
export interface HeldBlock extends BlockRow {
  backendId: number
  rootId: number
  /** When the last hold of the root ends, in milliseconds since the epoch; null if a hold never ends. */
  liveUntil: number | null
}

/** A stored block with its backend and multihash. */
export interface StoredBlock extends BlockRow {
  backendId: number
  multihash: Uint8Array
}

/** Lookups of blocks on this node. Each lookup is synchronous and reads one row or one batch of rows. */
export interface Blocks {
  find(backendId: number, multihash: Uint8Array): BlockRow | undefined
  get(blockId: number): BlockRow | undefined
  /** Returns the bytes of an inline block. */
  bytes(blockId: number): Uint8Array | undefined
  /**
   * Returns up to `limit` durable blocks with ids greater than `id`. Includes lost blocks (state `writing`) that
   * complete roots need.
   */
  durableAfter(id: number, limit: number): StoredBlock[]
  /**
   * Returns up to `limit` complete roots that need the block, with ids greater than `after`. If the block is damaged,
   * these roots are damaged too.
   */
  completeRootsOf(
    blockId: number,
    after: number,
    limit: number,
  ): Array<{ id: number; codec: number; multihash: Uint8Array }>
}
