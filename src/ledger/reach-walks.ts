import type { CID } from 'multiformats/cid'
import type { Database } from '../storage/database.ts'
import { WithStatements } from '../storage/with-statements.ts'
import type { WriteQueue } from '../storage/write-queue.ts'
import { FIND_BLOCK } from './block-rows.ts'
import type { BlockRow } from './blocks.ts'
import { PUBLIC } from './possessor.ts'
import { PRIVATE_WAY, PrivateWays } from './private-ways.ts'
import type { WithheldStatus } from './withheld.ts'

/**
 * Stages of a walk in order: delete the rows of an earlier walk, walk from the root, store the ways, delete the walk. A
 * walk of a root that has become private only has the stage `close`, and reads no block.
 */
export const STAGE = { forget: 0, walk: 1, note: 2, end: 3, close: 4 } as const

/** A walk through the DAG of one root, which computes `way` for each block of the root. */
export interface ReachWalk {
  rootId: number
  stage: number
  /** Id of the last block whose `way` was stored. */
  place: number
  /** Null if the root no longer exists. */
  state: 'staging' | 'complete' | 'dropped' | null
  barred: number
  owner: number
  backendId: number
  codec: number
  multihash: Uint8Array
}

export interface ReachedBlock {
  blockId: number
  codec: number
  way: number
  multihash: Uint8Array
}

/** `isLeaf` is true if the block has no links. */
export interface Reached {
  cid: CID
  way: number
  isLeaf: boolean
}

const ROWS_AT_ONCE = 100
/** When walks of roots that have become private are due: before all others. */
export const CLOSING = -1
/** Value of `way` for a block to which no path leads from the root. */
const UNREACHED = 404

/** Stores the progress of walks across restarts. */
export class ReachWalks extends WithStatements {
  readonly #queue: WriteQueue
  readonly #private: PrivateWays
  readonly #next = this.db.prepare<[number], ReachWalk>(`
    SELECT w.root_id AS rootId, w.stage, w.place, r.state, r.barred, r.owner, r.backend_id AS backendId, r.codec, r.multihash
    FROM reach_walks w INDEXED BY reach_walks_by_time LEFT JOIN roots r ON r.id = w.root_id
    WHERE w.due_at <= ? ORDER BY w.due_at LIMIT 1`)
  readonly #delay = this.db.prepare<[number, number]>('UPDATE reach_walks SET due_at = ? WHERE root_id = ?')
  readonly #enter = this.db.prepare<[number, number]>('UPDATE reach_walks SET stage = ?, place = 0 WHERE root_id = ?')
  readonly #isUnchanged = this.db.prepare<[number, number, number, number | null]>(`
    SELECT 1 FROM reach_walks w LEFT JOIN roots r ON r.id = w.root_id
    WHERE w.root_id = ? AND w.stage = ? AND w.place = ? AND r.owner IS ?`)
  readonly #place = this.db.prepare<[number, number]>('UPDATE reach_walks SET place = ? WHERE root_id = ?')
  readonly #delete = this.db.prepare<[number]>('DELETE FROM reach_walks WHERE root_id = ?')
  readonly #forget = this.db.prepare<[number, number, number]>(`
    DELETE FROM reached WHERE root_id = ? AND block_id IN (SELECT block_id FROM reached WHERE root_id = ? LIMIT ?)`)
  readonly #withheld = this.db.prepare<[Uint8Array], { status: WithheldStatus }>(`
    SELECT status FROM withheld WHERE multihash = ? AND status > 0`)
  readonly #find = this.db.prepare<[Uint8Array, number], BlockRow>(FIND_BLOCK)
  readonly #add = this.db.prepare<[number, number, number, number, number]>(`
    INSERT INTO reached (root_id, block_id, codec, way, done) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET way = excluded.way, done = excluded.done WHERE excluded.way < way`)
  readonly #done = this.db.prepare<[number, number, number]>(`
    UPDATE reached SET done = 1 WHERE root_id = ? AND block_id = ? AND codec = ?`)
  readonly #pending = this.db.prepare<[number, number], ReachedBlock>(`
    SELECT p.block_id AS blockId, p.codec, p.way, b.multihash
    FROM reached p INDEXED BY reached_next CROSS JOIN blocks b ON b.id = p.block_id
    WHERE p.root_id = ? AND p.done = 0 ORDER BY p.way, p.block_id LIMIT ?`)
  readonly #ways = this.db.prepare<[number, number, number], { blockId: number; way: number; reached: number | null }>(`
    SELECT rb.block_id AS blockId, rb.way,
      (SELECT MIN(p.way) FROM reached p WHERE p.root_id = rb.root_id AND p.block_id = rb.block_id) AS reached
    FROM root_blocks rb WHERE rb.root_id = ? AND rb.block_id > ? ORDER BY rb.block_id LIMIT ?`)
  readonly #setWay = this.db.prepare<[number, number, number]>(`
    UPDATE root_blocks SET way = ? WHERE root_id = ? AND block_id = ?`)
  readonly #open = this.db.prepare<[number]>(`
    UPDATE roots SET barred = COALESCE(
      (SELECT status FROM withheld WHERE withheld.multihash = roots.multihash AND status > 0), 0) WHERE id = ?`)

  constructor(db: Database, queue: WriteQueue) {
    super(db)
    this.#queue = queue
    this.#private = new PrivateWays(db)
  }

  /** Returns the walk that has been due for the longest time. */
  next(now: number): ReachWalk | undefined {
    return this.#next.get(now)
  }

  delay(rootId: number, until: number): Promise<void> {
    return this.#write(() => void this.#delay.run(until, rootId))
  }

  /** Returns the status of the takedown of this block itself. */
  statusOf(multihash: Uint8Array): WithheldStatus | null {
    return this.#withheld.get(multihash)?.status ?? null
  }

  /** Deletes some rows of the walk. Returns whether any row was deleted. */
  forget({ rootId }: ReachWalk): Promise<boolean> {
    return this.#write(() => this.#forget.run(rootId, rootId, ROWS_AT_ONCE).changes > 0)
  }

  enter(walk: ReachWalk, stage: number): Promise<void> {
    return this.#unlessChanged(walk, undefined, () => void this.#enter.run(stage, walk.rootId))
  }

  /**
   * Returns reached blocks whose links the walk must still follow. All have the same way, and blocks with way 0 come
   * first.
   */
  pending({ rootId }: ReachWalk, limit: number): ReachedBlock[] {
    const blocks = this.#pending.all(rootId, limit)
    return blocks.filter(({ way }) => way === blocks[0]?.way)
  }

  /**
   * Stores reached blocks. A block keeps its smallest way: the links of an identity CID that is taken down are stored
   * before other ways to them are known.
   */
  async add({ rootId, backendId }: ReachWalk, blocks: readonly Reached[]): Promise<void> {
    for (let index = 0; index < blocks.length; index += ROWS_AT_ONCE) {
      await this.#write(() => {
        for (const { cid, way, isLeaf } of blocks.slice(index, index + ROWS_AT_ONCE)) {
          const found = this.#find.get(cid.multihash.bytes, backendId)
          if (found !== undefined) this.#add.run(rootId, found.id, cid.code, way, isLeaf ? 1 : 0)
        }
      })
    }
  }

  /** Marks the links of a block as followed by the walk. */
  followed({ rootId }: ReachWalk, { blockId, codec }: ReachedBlock): Promise<void> {
    return this.#write(() => void this.#done.run(rootId, blockId, codec))
  }

  /** Stores the ways of the next blocks of a root. Returns false if no blocks are left. */
  note(walk: ReachWalk): Promise<boolean> {
    const { rootId, place, barred, owner } = walk
    return this.#unlessChanged(walk, true, () => {
      const rows = this.#ways.all(rootId, place, ROWS_AT_ONCE)
      for (const { blockId, way, reached } of rows) {
        const found = (barred > 1 ? barred : (reached ?? UNREACHED)) + (owner === PUBLIC ? 0 : PRIVATE_WAY)
        if (way !== found) this.#setWay.run(found, rootId, blockId)
      }
      const last = rows.at(-1)
      if (last !== undefined) this.#place.run(last.blockId, rootId)
      return last !== undefined
    })
  }

  /** Closes the next blocks of a root to strangers, then those of further roots, up to a number of roots and blocks. */
  close(walk: ReachWalk): Promise<void> {
    return this.#unlessChanged(walk, undefined, () => {
      let next: ReachWalk | undefined = walk
      for (let left = ROWS_AT_ONCE; left > 0 && next?.stage === STAGE.close; next = this.#next.get(CLOSING)) {
        left -= this.#closeSome(next)
      }
    })
  }

  /** Returns how much of a transaction the work takes. */
  #closeSome({ rootId, place }: ReachWalk): number {
    const last = this.#private.close(rootId, place)
    if (last !== null) {
      this.#place.run(last, rootId)
      return ROWS_AT_ONCE
    }
    if (this.#forget.run(rootId, rootId, ROWS_AT_ONCE).changes > 0) return ROWS_AT_ONCE
    this.#end(rootId)
    return 1
  }

  /**
   * Ends a walk. Afterwards the root makes its blocks public according to their ways, unless the root itself is taken
   * down.
   */
  end(walk: ReachWalk): Promise<void> {
    return this.#unlessChanged(walk, undefined, () => this.#end(walk.rootId))
  }

  #end(rootId: number): void {
    this.#open.run(rootId)
    this.#delete.run(rootId)
  }

  /** Runs a step, unless the root has another owner since the walk was read. Such a change begins a stage again. */
  #unlessChanged<T>({ rootId, stage, place, owner }: ReachWalk, otherwise: T, work: () => T): Promise<T> {
    return this.#write(() => {
      return this.#isUnchanged.get(rootId, stage, place, owner) === undefined ? otherwise : work()
    })
  }

  #write<T>(work: () => T): Promise<T> {
    return this.#queue.run(work, { durable: false, patient: true })
  }
}
