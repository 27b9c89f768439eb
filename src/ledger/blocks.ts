import type { OwnedDag } from './whole-dag.ts'

/** Backend of the engine's own data directory. */
export const DEFAULT_BACKEND_ID = 0

/** A block that is small enough to be stored in the database. */
export interface NewBlock {
  multihash: Uint8Array
  bytes: Uint8Array
}

export type BlockState = 'writing' | 'durable' | 'deleting'

export interface BlockRow {
  id: number
  size: number
  state: BlockState
  /** 1 if the bytes are in the database; 0 if they are in a file. */
  inline: 0 | 1
}

export interface HeldBlock extends BlockRow {
  backendId: number
  rootId: number
  /** End of the root's last hold in ms since the epoch; null if a hold never ends. */
  liveUntil: number | null
}

export interface StoredBlock extends BlockRow {
  backendId: number
  multihash: Uint8Array
}

/** A complete root that needs a block. */
export interface RootOfBlock extends OwnedDag {
  id: number
}

/** Lookups of blocks on this node. Each lookup reads one row or one batch of rows. */
export interface Blocks {
  find(backendId: number, multihash: Uint8Array): BlockRow | undefined
  get(blockId: number): BlockRow | undefined
  /** Returns the bytes of a block that is stored in the database. */
  bytes(blockId: number): Uint8Array | undefined
  /** Returns the number of bytes that {@link Blocks.bytes} has, without reading them. */
  storedSize(blockId: number): number | undefined
  /** Returns durable blocks with ids greater than `id`, and lost blocks that complete roots need. */
  durableAfter(id: number, limit: number): StoredBlock[]
  /** Returns the number and the total size of all durable blocks, from a counter. */
  durableAmount(): { count: number; bytes: number }
  /** Returns complete roots with ids greater than `after` that need the block. */
  completeRootsOf(blockId: number, after: number, limit: number): RootOfBlock[]
}
