import { HoldfastError } from '../domain/errors.ts'
import { keptText } from '../domain/text.ts'
import type { DagIdentity } from '../ipld/cid.ts'
import { rowsOfTurn } from '../storage/rows-of-turn.ts'
import { WithStatements } from '../storage/with-statements.ts'
import { LAST_UNCOMPARED, LIVE_ROOT } from './block-rows.ts'
import { type Possessor, PUBLIC } from './possessor.ts'
import type { OwnedDag, RootFile, WholeDag } from './whole-dag.ts'

/** A DAG that is stored completely. */
export interface RootRow extends OwnedDag {
  id: number
  backendId: number
  /** Total size of the files in bytes. */
  contentSize: number
  /** Total size of the distinct blocks in bytes. */
  dagSize: number
  fileCount: number
  /** Number of distinct blocks. */
  blocks: number
  /** Bytes that the DAG counts against a quota. */
  charge: number
  /** End of the last hold in ms since the epoch; null if a hold never ends. */
  liveUntil: number | null
  /** In ms since the epoch; null for never. */
  announcedAt: number | null
}

/** A root with a hold. `liveUntil` is the end of its last hold, or null if a hold never ends. */
export interface LiveRoot {
  rootId: number
  backendId: number
  liveUntil: number | null
}

interface IdentifiedRow extends DagIdentity {
  id: number
}

const COLUMNS = `id, backend_id AS backendId, codec, multihash, owner, content_size AS contentSize, dag_size AS dagSize,
  file_count AS fileCount, blocks, charge, live_until AS liveUntil,
  announced_at AS announcedAt`

const COMPLETE = `SELECT ${COLUMNS} FROM roots WHERE state = 'complete' AND multihash = ? AND codec = ?`

/** Conditions that let SQLite use the index of the public roots, or that of the roots of accounts. */
const IS_PUBLIC = 'owner = 0'
const IS_OWN = 'owner = ? AND owner <> 0'

const LIVE = `SELECT id AS rootId, backend_id AS backendId, live_until AS liveUntil, barred FROM roots r
    WHERE multihash = ? AND`

const UNCONFIRMED = `SELECT id, codec, multihash FROM roots
    WHERE state = 'complete' AND multihash = ? AND codec = ? AND backend_id = ? AND unconfirmed = 1`

type OpenRoot = LiveRoot & { barred: number }

export class RootTable extends WithStatements {
  readonly #stage = this.db.prepare<[number, number]>(`
    INSERT INTO roots (backend_id, state, created_at) VALUES (?, 'staging', ?)`)
  readonly #insert = this.db.prepare<[number, number, Uint8Array, number, ...Sizes, number]>(`
    INSERT INTO roots (backend_id, state, codec, multihash, owner, content_size, dag_size, file_count, blocks, charge,
      created_at)
    VALUES (?, 'complete', ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
  readonly #complete = this.db.prepare<[number, Uint8Array, number, ...Sizes, number]>(`
    UPDATE roots SET state = 'complete', codec = ?, multihash = ?, owner = ?, content_size = ?, dag_size = ?,
      file_count = ?, blocks = ?, charge = ?
    WHERE id = ? AND state = 'staging'`)
  readonly #drop = this.db.prepare<[number]>(`UPDATE roots SET state = 'dropped' WHERE id = ?`)
  readonly #abandon = this.db.prepare<[number]>(`UPDATE roots SET state = 'dropped' WHERE id = ? AND state = 'staging'`)
  readonly #dropStaging = this.db.prepare<[]>(`
    UPDATE roots SET state = 'dropped'
    WHERE state = 'staging' AND NOT EXISTS (SELECT 1 FROM holds WHERE root_id = roots.id)`)
  readonly #delete = this.db.prepare<[number]>('DELETE FROM roots WHERE id = ?')
  readonly #get = this.db.prepare<[number], RootRow>(`SELECT ${COLUMNS} FROM roots WHERE id = ?`)
  readonly #findPublic = this.db.prepare<[Uint8Array, number, number], RootRow>(`
    ${COMPLETE} AND backend_id = ? AND ${IS_PUBLIC}`)
  readonly #findOwn = this.db.prepare<[Uint8Array, number, number, number], RootRow>(`
    ${COMPLETE} AND backend_id = ? AND ${IS_OWN}`)
  readonly #findOfAccounts = this.db.prepare<[Uint8Array, number, number], RootRow>(`
    ${COMPLETE} AND backend_id = ? AND owner <> 0 LIMIT 1`)
  readonly #anywherePublic = this.db.prepare<[Uint8Array, number], RootRow>(`
    ${COMPLETE} AND ${IS_PUBLIC} ORDER BY backend_id LIMIT 1`)
  readonly #anywhereOwn = this.db.prepare<[Uint8Array, number, number], RootRow>(`
    ${COMPLETE} AND ${IS_OWN} ORDER BY backend_id LIMIT 1`)
  readonly #livePublic = this.db.prepare<[Uint8Array, number], OpenRoot>(`
    ${LIVE} ${IS_PUBLIC} AND ${LIVE_ROOT} AND id > ${LAST_UNCOMPARED}`)
  readonly #liveOwn = this.db.prepare<[Uint8Array, number, number], OpenRoot>(`${LIVE} ${IS_OWN} AND ${LIVE_ROOT}`)
  readonly #isLive = this.db.prepare<[number, number]>(`
    SELECT 1 FROM roots WHERE id = ? AND state = 'complete' AND (live_until IS NULL OR live_until > ?)`)
  readonly #completeAfter = this.db.prepare<[number, number], IdentifiedRow & { isHeld: 0 | 1 }>(`
    SELECT id, codec, multihash, EXISTS (SELECT 1 FROM holds WHERE root_id = roots.id) AS isHeld FROM roots
    WHERE id > ? AND state = 'complete' ORDER BY id LIMIT ?`)
  readonly #dropped = this.db.prepare<[number, number], { id: number }>(`
    SELECT id FROM roots WHERE state = 'dropped' AND id <= ? ORDER BY id LIMIT ?`)
  readonly #lastId = this.db.prepare<[], { id: number | null }>('SELECT MAX(id) AS id FROM roots')
  readonly #setLiveUntil = this.db.prepare<[number | null, number, number | null]>(`
    UPDATE roots SET live_until = ? WHERE id = ? AND live_until IS NOT ?`)
  readonly #setPlaced = this.db.prepare<[number | null, number | null, number | null, number]>(`
    UPDATE roots SET placed_at = CASE WHEN ? IS NULL THEN NULL ELSE COALESCE(placed_at, ?) END,
      unconfirmed = CASE WHEN ? > 0 AND (placed_at IS NULL OR unconfirmed = 1) THEN 1 ELSE 0 END
    WHERE id = ?`)
  readonly #unconfirmed = this.db.prepare<[Uint8Array, number, number, Uint8Array, number, number], IdentifiedRow>(`
    ${UNCONFIRMED} AND owner = 0 UNION ALL ${UNCONFIRMED} AND owner <> 0`)
  readonly #confirm = this.db.prepare<[number, number]>(`
    UPDATE roots SET unconfirmed = 0 WHERE id = ? AND placed_at < ?`)
  readonly #isPlaced = this.db.prepare<[number]>('SELECT 1 FROM roots WHERE id = ? AND placed_at IS NOT NULL')
  readonly #addFile = this.db.prepare<[number, number, string, number, Uint8Array, number]>(`
    INSERT INTO root_files (root_id, position, path, codec, multihash, size) VALUES (?, ?, ?, ?, ?, ?)`)
  readonly #files = this.db.prepare<[number, number, number], RootFile>(`
    SELECT path, codec, multihash, size FROM root_files WHERE root_id = ? AND position >= ? ORDER BY position LIMIT ?`)
  readonly #deleteFiles = this.db.prepare<[number, number, number]>(`
    DELETE FROM root_files WHERE root_id = ? AND position IN
      (SELECT position FROM root_files WHERE root_id = ? LIMIT ?)`)
  readonly #moveFiles = this.db.prepare<[number, number, number, number]>(`
    UPDATE root_files SET root_id = ? WHERE root_id = ? AND position IN
      (SELECT position FROM root_files WHERE root_id = ? LIMIT ?)`)

  /** Creates a staged root, which lookups do not find. */
  stage(backendId: number, now: number): number {
    return Number(this.#stage.run(backendId, now).lastInsertRowid)
  }

  /** Inserts a root. The caller adds its blocks in the same transaction. */
  insert(backendId: number, dag: WholeDag, now: number): number {
    const { codec, multihash, owner } = dag
    return Number(this.#insert.run(backendId, codec, multihash, owner, ...sizesOf(dag), now).lastInsertRowid)
  }

  /** @throws HoldfastError `INTERNAL_ERROR` if the root is not staged, because its blocks may have been deleted */
  complete(rootId: number, dag: WholeDag): void {
    const { codec, multihash, owner } = dag
    if (this.#complete.run(codec, multihash, owner, ...sizesOf(dag), rootId).changes === 1) return
    throw new HoldfastError('INTERNAL_ERROR', `root ${rootId} is not being staged`)
  }

  /** Drops a root. The collector later deletes the blocks that only this root needs. */
  drop(rootId: number): void {
    this.#drop.run(rootId)
  }

  /** Does nothing for a complete root. */
  abandon(rootId: number): void {
    this.#abandon.run(rootId)
  }

  /** Drops the staged roots without a hold, which an earlier process left. */
  dropStaging(): void {
    this.#dropStaging.run()
  }

  delete(rootId: number): void {
    this.#delete.run(rootId)
  }

  get(rootId: number): RootRow | undefined {
    return this.#get.get(rootId)
  }

  /** Returns the complete root of an owner. */
  find(backendId: number, { multihash, codec }: DagIdentity, owner: number): RootRow | undefined {
    if (owner === PUBLIC) return this.#findPublic.get(multihash, codec, backendId)
    return this.#findOwn.get(multihash, codec, backendId, owner)
  }

  /** Returns a complete root of any owner. All roots of a DAG have the same blocks. */
  findOfAny(backendId: number, dag: DagIdentity): RootRow | undefined {
    const root = this.find(backendId, dag, PUBLIC)
    return root ?? this.#findOfAccounts.get(dag.multihash, dag.codec, backendId)
  }

  /** Returns a complete root of an owner on any backend. */
  findAnywhere({ multihash, codec }: DagIdentity, owner: number): RootRow | undefined {
    if (owner === PUBLIC) return this.#anywherePublic.get(multihash, codec)
    return this.#anywhereOwn.get(multihash, codec, owner)
  }

  /** Returns a live root with this multihash that a possessor may use. Any codec matches. */
  findPossessed(multihash: Uint8Array, { now, owner }: Possessor): LiveRoot | undefined {
    const root = this.#livePublic.get(multihash, now)
    return root ?? (owner === PUBLIC ? undefined : this.#liveOwn.get(multihash, owner, now))
  }

  /**
   * Returns the live roots of an owner with this multihash that are not taken down. Each codec and backend has at most
   * one. The roots of other owners take no time.
   */
  findOpen(multihash: Uint8Array, now: number, owner = PUBLIC): LiveRoot[] {
    const roots = owner === PUBLIC ? this.#livePublic.all(multihash, now) : this.#liveOwn.all(multihash, owner, now)
    return roots.filter(({ barred }) => barred < 2)
  }

  /** Returns whether a root is complete and held at `now`. */
  isLive(rootId: number, now: number): boolean {
    return this.#isLive.get(rootId, now) !== undefined
  }

  completeAfter(id: number, limit: number): Array<IdentifiedRow & { isHeld: 0 | 1 }> {
    return rowsOfTurn(this.#completeAfter.iterate(id, limit))
  }

  dropped(upTo: number, limit: number): number[] {
    return this.#dropped.all(upTo, limit).map(row => row.id)
  }

  /** Returns the id of the newest root. Each new root has a greater id than all earlier roots. */
  lastId(): number {
    return this.#lastId.get()?.id ?? 0
  }

  setLiveUntil(rootId: number, liveUntil: number | null): void {
    this.#setLiveUntil.run(liveUntil, rootId, liveUntil)
  }

  isPlaced(rootId: number): boolean {
    return this.#isPlaced.get(rootId) !== undefined
  }

  /**
   * Stores since when the external backend has had the root, unless a time is stored. Null means that the backend does
   * not have the root. The blocks stay on this disk until a check confirms the root. A time of 0 needs no confirmation.
   */
  setPlaced(rootId: number, at: number | null): void {
    this.#setPlaced.run(at, at, at, rootId)
  }

  /** Returns the ids of the complete roots of a DAG that no check has confirmed yet. */
  unconfirmed(backendId: number, dag: DagIdentity): number[] {
    const place = [dag.multihash, dag.codec, backendId] as const
    return this.#unconfirmed.all(...place, ...place).map(({ id }) => id)
  }

  /** Has no effect unless the root was placed before the check began. */
  confirm(rootId: number, began: number): void {
    this.#confirm.run(rootId, began)
  }

  addFile(rootId: number, position: number, file: RootFile): void {
    this.#addFile.run(rootId, position, file.path, file.codec, file.multihash, file.size)
  }

  /** Positions have no gaps, so the cost does not depend on `offset`. */
  files(rootId: number, offset: number, limit: number): RootFile[] {
    return this.#files.all(rootId, offset, limit).map(asKept)
  }

  moveFiles(fromRootId: number, toRootId: number, limit: number): number {
    return this.#moveFiles.run(toRootId, fromRootId, fromRootId, limit).changes
  }

  deleteFiles(rootId: number, limit: number): number {
    return this.#deleteFiles.run(rootId, rootId, limit).changes
  }
}

type Sizes = [contentSize: number, dagSize: number, fileCount: number, blocks: number, charge: number]

function sizesOf({ contentSize, dagSize, fileCount, blocks, charge }: WholeDag): Sizes {
  return [contentSize, dagSize, fileCount, blocks, charge]
}

/** Names in a DAG can be any bytes, but an external catalogue stores only text. */
function asKept(file: RootFile): RootFile {
  return { ...file, path: keptText(file.path) }
}
