import type { Database } from '../storage/database.ts'
import { WithStatements } from '../storage/with-statements.ts'
import type { WriteQueue } from '../storage/write-queue.ts'
import { LAST_UNCOMPARED } from './block-rows.ts'
import type { Holds } from './holds.ts'
import { PUBLIC } from './possessor.ts'
import { PRIVATE_WAY } from './private-ways.ts'
import { CLOSING, STAGE } from './reach-walks.ts'
import type { RootRow, RootTable } from './root-table.ts'

const ROWS_AT_ONCE = 500

/** Gives the content of a hold another owner. A copy of a root has the same blocks, of which nothing is read or written. */
export class RootOwners extends WithStatements {
  readonly #roots: RootTable
  readonly #holds: Holds
  readonly #queue: WriteQueue
  readonly #isShared = this.db.prepare<[number]>('SELECT 1 FROM holds WHERE root_id = ? LIMIT 1 OFFSET 1')
  readonly #endsOf = this.db.prepare<[string], { ends: number }>('SELECT ends FROM holds WHERE id = ?')
  readonly #setOwner = this.db.prepare<[number, number]>('UPDATE roots SET owner = ?, announced_at = NULL WHERE id = ?')
  // An earlier stage stores the ways of the new owner later. A walk that stores ways begins with them again. A walk that
  // ends has stored them all, and may have deleted what it reached.
  readonly #demandClosing = this.db.prepare<[number]>(`
    INSERT INTO reach_walks (root_id, stage, due_at) VALUES (?, ${STAGE.close}, ${CLOSING})
    ON CONFLICT (root_id) DO UPDATE SET due_at = ${CLOSING}, place = 0,
      stage = CASE stage WHEN ${STAGE.end} THEN ${STAGE.close} ELSE stage END`)
  readonly #next = this.db.prepare<[number, number, number], { blockId: number; way: number }>(`
    SELECT block_id AS blockId, way FROM root_blocks WHERE root_id = ? AND block_id > ? ORDER BY block_id LIMIT ?`)
  readonly #add = this.db.prepare<[number, number, number]>(`
    INSERT OR IGNORE INTO root_blocks (root_id, block_id, way) VALUES (?, ?, ?)`)
  readonly #copyFiles = this.db.prepare<[number, number, number, number]>(`
    INSERT INTO root_files (root_id, position, path, codec, multihash, size)
    SELECT ?, position, path, codec, multihash, size FROM root_files
    WHERE root_id = ? AND position >= ? ORDER BY position LIMIT ?`)
  readonly #uncompared = this.db.prepare<[number], { id: number; isPublic: 0 | 1; upTo: number }>(`
    SELECT id, state = 'complete' AND owner = 0 AS isPublic, ${LAST_UNCOMPARED} AS upTo FROM roots
    WHERE id <= ${LAST_UNCOMPARED} ORDER BY id DESC LIMIT ?`)
  readonly #compared = this.db.prepare<[number, number]>('UPDATE uncompared SET root_id = ? WHERE root_id = ?')
  readonly #allCompared = this.db.prepare<[]>('DELETE FROM uncompared WHERE root_id <= 0')

  constructor(db: Database, { roots, holds, queue }: { roots: RootTable; holds: Holds; queue: WriteQueue }) {
    super(db)
    this.#roots = roots
    this.#holds = holds
    this.#queue = queue
  }

  /**
   * Moves a hold to the root of an owner, within the caller's transaction. If the hold is the only one on a public root,
   * the root itself changes its owner. Returns the id of the root, or null if {@link copy} must first make one.
   */
  give(hold: string, owner: number): number | null {
    const root = this.rootOf(hold)
    if (root === undefined) return null
    if (root.owner === owner) return root.id
    const known = this.#roots.find(root.backendId, root, owner)
    if (known !== undefined) return this.#move(hold, known.id)
    if (owner === PUBLIC || this.#isShared.get(root.id) !== undefined) return null
    this.#setOwner.run(owner, root.id)
    this.#demandClosing.run(root.id)
    return root.id
  }

  /**
   * Stages a copy of the root of a hold for an owner, in short transactions. Returns the id of the staged root, or null
   * if the hold keeps no complete root, or has left it meanwhile. The caller gives it to the hold, or abandons it.
   */
  async copy(hold: string, owner: number, now: number): Promise<number | null> {
    const root = this.rootOf(hold)
    if (root === undefined) return null
    const staged = await this.#write(() => this.#roots.stage(root.backendId, now))
    const more = owner === PUBLIC ? 0 : PRIVATE_WAY
    for (let after: number | null = 0; after !== null; ) {
      const place: number = after
      after = await this.#write(() => {
        const rows = this.#next.all(root.id, place, ROWS_AT_ONCE)
        for (const { blockId, way } of rows) this.#add.run(staged, blockId, (way % PRIVATE_WAY) + more)
        return rows.at(-1)?.blockId ?? null
      })
    }
    for (let position = 0; position < root.fileCount; position += ROWS_AT_ONCE) {
      await this.#write(() => this.#copyFiles.run(staged, root.id, position, ROWS_AT_ONCE))
    }
    // A root that is held until now has lost no row. Otherwise the copy may lack some.
    if (this.rootOf(hold)?.id === root.id) return staged
    await this.#write(() => this.#roots.abandon(staged))
    return null
  }

  /**
   * Completes a copy and moves the hold to it, within the caller's transaction. If the hold has left the root that was
   * copied, abandons the copy and returns null. Otherwise the copy is whole: no row of a held root is released.
   */
  giveCopy(hold: string, { staged, from, owner }: { staged: number; from: number; owner: number }): number | null {
    const root = this.rootOf(hold)
    if (root === undefined || root.id !== from) {
      this.#roots.abandon(staged)
      return null
    }
    const { id } = this.#holds.complete(root.backendId, staged, { ...root, owner })
    return this.#move(hold, id)
  }

  /** Returns the complete root of a hold. */
  rootOf(hold: string): RootRow | undefined {
    const rootId = this.#holds.rootOf(hold)
    const root = rootId === null ? undefined : this.#roots.get(rootId)
    // A staged root has no multihash yet.
    return root?.multihash instanceof Uint8Array ? root : undefined
  }

  /** Returns the next public roots to compare, from the youngest on. `upTo` is 0 once no root is left. */
  uncompared(limit: number): { upTo: number; roots: number[]; last: number } {
    const rows = this.#uncompared.all(limit)
    const roots = rows.filter(({ isPublic }) => isPublic === 1).map(({ id }) => id)
    return { upTo: rows[0]?.upTo ?? 0, roots, last: rows.length < limit ? 1 : (rows.at(-1)?.id ?? 1) }
  }

  /** Has no effect if the node distrusts the catalogue again since. */
  compared({ upTo, last }: { upTo: number; last: number }): void {
    this.#compared.run(last - 1, upTo)
    this.#allCompared.run()
  }

  #move(hold: string, rootId: number): number {
    const ends = this.#endsOf.get(hold)?.ends ?? null
    this.#holds.hold(hold, rootId, ends === Number.MAX_SAFE_INTEGER ? null : ends)
    return rootId
  }

  #write<T>(work: () => T): Promise<T> {
    return this.#queue.run(work, { durable: false, patient: true })
  }
}
